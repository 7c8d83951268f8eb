"""YOLO of several generations and tasks, at the scale n; the boxes as they come, without suppression."""

from __future__ import annotations

import operators  # noqa: F401
from net import Net, One, finder, image
from torch import nn
from ultralytics.nn import tasks


def of(file: str, task: str = "DetectionModel") -> Net:
    """The network that a file of ultralytics describes."""

    def build() -> nn.Module:
        return One(getattr(tasks, task)(file, ch=3, nc=3, verbose=False))

    return Net(build, image(64))


NETS = {
    "yolov3_tiny": of("yolov3-tiny.yaml"),
    "yolov5n": of("yolov5n.yaml"),
    "yolov6n": of("yolov6n.yaml"),
    "yolov8n": of("yolov8n.yaml"),
    "yolov8n_seg": of("yolov8n-seg.yaml", "SegmentationModel"),
    "yolov8n_pose": of("yolov8n-pose.yaml", "PoseModel"),
    "yolov8n_obb": of("yolov8n-obb.yaml", "OBBModel"),
    "yolov8n_cls": of("yolov8n-cls.yaml", "ClassificationModel"),
    "yolov9t": of("yolov9t.yaml"),
    "yolov10n": of("yolov10n.yaml"),
    "yolo11n": of("yolo11n.yaml"),
    "yolo12n": of("yolo12n.yaml"),
}
__getattr__ = finder(NETS)
