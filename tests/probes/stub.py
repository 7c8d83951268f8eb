"""A stand-in for the worker: builds the model, runs it, and pretends to export, in the worker's own stages."""

import importlib
import os
from dataclasses import replace

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import ExporterResult, ModelReport, ModelStatus, Outcome
from onnxlint.probes.common.stages import stage


def _load(name):
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def run_probe(probe, publish):
    model = _load(probe.factory)()
    inputs = _load(probe.inputs)()
    stage("running eagerly on the example")
    model(*inputs)
    report = ModelReport(probe.name, probe.path, probe.line, ModelStatus.PROBED, exporters={})
    publish(ProbeResult(report))
    for exporter in probe.exporters:
        stage(f"exporting with {exporter}")
        os.environ["STUB_EXPORTER"] = exporter
        model(*inputs)
        report = replace(report, exporters={**report.exporters, exporter: ExporterResult(Outcome.OK)})
        publish(ProbeResult(report))
    return ProbeResult(report, versions={"stub": "1"})
