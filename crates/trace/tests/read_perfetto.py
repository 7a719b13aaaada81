"""Reads a file for Perfetto with the message types of its package, and counts what it has."""

import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

tracks, counters, processes = set(), set(), 0
open_slices, slices, requests, unbalanced = {}, 0, 0, 0
begun, ended = set(), set()
events = []
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        if track.HasField("process"):
            processes += 1
        else:
            assert track.parent_uuid, track
            (counters if track.HasField("counter") else tracks).add(track.uuid)
    if packet.HasField("track_event"):
        assert packet.timestamp > 0 and packet.timestamp_clock_id == 3
        events.append((packet.timestamp, packet.track_event))

for _, event in sorted(events, key=lambda event: event[0]):
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert event.track_uuid in tracks and event.name
        slices += 1
        requests += event.name.startswith("request")
        begun.update(event.flow_ids)
        ended.update(event.terminating_flow_ids)
        open_slices[event.track_uuid] = open_slices.get(event.track_uuid, 0) + 1
    elif event.type == TrackEvent.TYPE_SLICE_END:
        open_slices[event.track_uuid] -= 1
        unbalanced += open_slices[event.track_uuid] < 0
    else:
        assert event.type == TrackEvent.TYPE_COUNTER and event.track_uuid in counters

unbalanced += sum(open_slices.values())
for name, count in [
    ("processes", processes),
    ("tracks", len(tracks)),
    ("counters", len(counters)),
    ("slices", slices),
    ("requests", requests),
    ("arrows", len(begun & ended)),
    ("unbalanced", unbalanced),
]:
    print(name, count)
