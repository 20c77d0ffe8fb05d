"""Networks whose forward pass a test gives."""

from collections.abc import Callable
from typing import Any

import torch


class Written(torch.nn.Module):
    """Calls ``run(self, x)``; ``parts`` are the modules and parameters that it uses."""

    def __init__(self, run: Callable[[Any, Any], Any], **parts: Any) -> None:
        super().__init__()
        self.run = run
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Any) -> Any:
        return self.run(self, x)
