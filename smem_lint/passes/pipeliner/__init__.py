"""The software pipeliner of Triton: which operations of a loop run in which iteration, and the loop rewritten accordingly.

``schedule`` holds the coarse schedule that the passes pass on as attributes; ``../assign_latencies.py``, ``../schedule_loops.py``,
``../warp_specialize.py`` and ``../pipeline.py`` are the passes in their order. ``lower_loads`` turns scheduled loads into
asynchronous copies, ``expander`` unrolls the schedule into prologue and kernel, ``predication`` guards what may run too often,
``wgmma`` and ``tma_stores`` overlap the asynchronous operations of sm_90 and later.
"""
