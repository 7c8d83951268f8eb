"""Models that tests of the Python API make and check."""

from __future__ import annotations

import threading
import time

import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # the gate
            return x * 2
        return x - 1


class Counter(torch.nn.Module):
    """Cannot be copied, and is changed by its forward."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * self.weight + self.calls


class Long(torch.nn.Module):
    def forward(self, x, bias):
        if x.shape[1] > 4:
            return x * 2 + bias
        return x + bias


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x, scale=None):
        return self.linear(x).relu() * (1.0 if scale is None else scale)


class Sleeper(torch.nn.Module):
    def forward(self, x):
        if torch.onnx.is_in_onnx_export():
            time.sleep(600)
        return x + 1
