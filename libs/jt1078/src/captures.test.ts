import { describe, expect, it } from '@jest/globals';
import { decodeAdpcm } from './adpcm.ts';
import { decodeG711A, decodeG711U, toS16le } from './g711.ts';
import { hasHisiliconHeader } from './hisilicon.ts';
import { getPayloadTypeName, SubpackageMark } from './tables.ts';
import { frameHashes, probeVideo } from './testing/ffmpeg.ts';
import { flvToAnnexB } from './testing/flv-demuxer.ts';
import { splitNalUnits } from './testing/nal-units.ts';
import { getPacketTimestamp } from './testing/parse-packet.ts';
import { buildFlv, type PipelineOutput, runTcp } from './testing/pipeline.ts';
import { type CaptureEntry, hasShared, readManifest, readShared, sha256 } from './testing/shared.ts';

const captures = hasShared ? readManifest().captures : [];
const read = (entry: CaptureEntry): Buffer => readShared(`jt1078-captures/${entry.file}`);
const marks: Record<string, number> = {
  atomic: SubpackageMark.ATOMIC,
  first: SubpackageMark.FIRST,
  last: SubpackageMark.LAST,
  middle: SubpackageMark.MIDDLE,
};

const decoders: Record<string, (frame: Buffer) => Int16Array> = {
  G711A: decodeG711A,
  G711U: decodeG711U,
  ADPCMA: decodeAdpcm,
};

const framesByKind = (output: PipelineOutput, kind: string): Buffer[] =>
  output.frames.filter((frame) => frame.kind === kind).map((frame) => frame.data);

/** Returns the elementary stream from the first frame with a sequence parameter set. */
const decodable = (output: PipelineOutput, entry: CaptureEntry): Buffer =>
  Buffer.concat(framesByKind(output, 'video').slice(entry.video?.first_decodable_frame_index ?? 0));

const ffmpegFormat = (codec: string | undefined): string => (codec === 'H265' ? 'hevc' : 'h264');

const describeShared = hasShared ? describe : describe.skip;
describeShared('captures', () => {
  it('reads at least one capture from the manifest', () => {
    expect(captures.length).toBeGreaterThan(0);
  });

  it.each(captures.map((entry) => [entry.file, entry] as const))(
    '%s: contains the packets listed in the manifest',
    (_file, entry) => {
      const bytes = read(entry);
      expect(sha256(bytes)).toBe(entry.sha256);
      const { packets, splitter, assembler } = runTcp(bytes);
      const counts = Object.entries(marks).map(([name, mark]) => [
        name,
        packets.filter((packet) => packet.subpackage === mark).length,
      ]);
      expect(splitter.counters).toMatchObject({ packets: entry.packets, skippedBytes: 0, resyncs: 0 });
      expect(splitter.simBytes).toBe(entry.sim_bytes);
      expect(new Set(packets.map((packet) => packet.sim))).toEqual(new Set([entry.sim]));
      expect(new Set(packets.map((packet) => packet.channel))).toEqual(new Set([entry.channel]));
      expect([packets[0]?.sequence, packets.at(-1)?.sequence]).toEqual([entry.seq_first, entry.seq_last]);
      expect(assembler.counters.sequenceGaps).toBe(entry.seq_gaps);
      expect(Math.max(...packets.map((packet) => packet.body.length))).toBe(entry.max_body);
      expect(packets.filter((packet) => packet.marker).length).toBe(entry.markers_set);
      expect(Object.fromEntries(counts.filter(([, count]) => count !== 0))).toEqual(entry.subpackage_counts);
      for (const kind of ['video', 'audio'] as const) {
        const expectedCount = entry[kind];
        const withoutMarker = packets.filter((packet) => (packet.dataType === 3) === (kind === 'audio'));
        expect(new Set(withoutMarker.map((packet) => packet.payloadType))).toEqual(
          new Set(expectedCount ? [expectedCount.payload_type] : []),
        );
        expect(
          [withoutMarker[0], withoutMarker.at(-1)].map((packet) =>
            packet ? Number(getPacketTimestamp(packet)) : undefined,
          ),
        ).toEqual([expectedCount?.first_timestamp, expectedCount?.last_timestamp]);
      }
    },
  );

  it.each(captures.map((entry) => [entry.file, entry] as const))(
    '%s: contains the frames listed in the manifest',
    (_file, entry) => {
      const output = runTcp(read(entry));
      const video = framesByKind(output, 'video');
      expect(video.length).toBe(entry.video?.complete_frames ?? 0);
      expect(entry.video && sha256(Buffer.concat(video))).toBe(entry.video?.es_sha256_of_complete_frames ?? null);
      expect(video.filter((frame) => frame.at(-1) === 0).length).toBe(
        entry.video?.frames_with_trailing_zero_bytes ?? 0,
      );
      const audio = framesByKind(output, 'audio');
      expect(audio.length).toBe(entry.audio?.frames ?? 0);
      if (!entry.audio) return;
      expect(sha256(Buffer.concat(audio))).toBe(entry.audio.payload_sha256);
      expect(audio.every(hasHisiliconHeader)).toBe(entry.audio.hisilicon_header);
      const decode = decoders[entry.audio.codec];
      if (!decode) throw new Error(`no decoder for ${entry.audio.codec}`);
      const pcm = Buffer.concat(audio.map((frame) => toS16le(decode(frame))));
      expect(pcm.length / 2).toBe(entry.audio.samples);
      expect(sha256(pcm)).toBe(entry.audio.pcm_s16le_sha256);
      expect(output.muxer.audio).toMatchObject({
        codec: getPayloadTypeName(entry.audio.payload_type),
        sampleRate: entry.audio.sample_rate,
        channels: entry.audio.channels,
        needsTranscoding: true,
      });
    },
  );

  it.each(captures.map((entry) => [entry.file, entry] as const))('%s: plays as FLV', (_file, entry) => {
    if (!entry.video) throw new Error('a capture without video needs its own test');
    const output = runTcp(read(entry));
    const format = ffmpegFormat(entry.video.codec);
    const flv = buildFlv(output);
    const annexB = flvToAnnexB(flv);
    const probe = format === 'h264' ? probeVideo(flv, 'flv') : probeVideo(annexB.data, 'hevc');
    expect(probe).toMatchObject({
      codec: format,
      width: entry.video.width,
      height: entry.video.height,
      profile: entry.video.profile,
      level: entry.video.level,
      frames: entry.video.decoded_frames_from_first_keyframe,
    });
    expect(output.muxer.video).toMatchObject({
      width: entry.video.width,
      height: entry.video.height,
      level: entry.video.level,
    });
    const { timestampsMs } = annexB;
    const durations = [timestampsMs, ...(format === 'h264' ? [probe.ptsMs] : [])].map(
      (all) => (all.at(-1) ?? 0) - (all[0] ?? 0),
    );
    for (const ms of durations) expect(ms).toBeCloseTo(entry.video.duration_s * 1000, -1);
    // The pictures equal those of the camera's elementary stream.
    const fromFlv = format === 'h264' ? frameHashes(flv, 'flv') : frameHashes(annexB.data, format);
    expect(fromFlv).toEqual(frameHashes(decodable(output, entry), format));
  });

  it.each(captures.map((entry) => [entry.file, entry] as const))(
    '%s: produces the same tags regardless of chunk sizes',
    (_file, entry) => {
      const bytes = read(entry).subarray(0, 60_000);
      const whole = sha256(Buffer.concat(runTcp(bytes).tags.map((tag) => tag.wire)));
      for (const size of [1, 2, 3, 5, 7, 11, 13, 17, 29, 31, 97, 949, 951, 981, 1460, 4095]) {
        expect(sha256(Buffer.concat(runTcp(bytes, size).tags.map((tag) => tag.wire)))).toBe(whole);
      }
    },
  );

  it('removes padding from the units and marks non-reference pictures', () => {
    const entry = captures.find(({ file }) => file === 'cif-adpcm-ch2.bin');
    if (!entry) throw new Error('capture is missing');
    const output = runTcp(read(entry));
    const units = splitNalUnits(flvToAnnexB(buildFlv(output)).data);
    expect(units.every((unit) => unit.at(-1) !== 0)).toBe(true);
    expect(units[0]?.toString('hex')).toBe(entry.video?.sps[0]);
    expect(units[1]?.toString('hex')).toBe(entry.video?.pps[0]);
    expect(output.tags.filter((tag) => tag.isDisposable).length).toBe(9);
    expect(output.tags.filter((tag) => tag.isKeyFrame && !tag.isSequenceHeader).length).toBe(1);
  });

  it('places audio by its samples, within 2 ms of the video', () => {
    const entry = captures.find(({ file }) => file === 'cif-adpcm-ch2.bin');
    if (!entry) throw new Error('capture is missing');
    const { transcode, tags } = runTcp(read(entry));
    expect(transcode.map((input) => input.timestampMs)).toEqual(transcode.map((_, i) => i * 40));
    expect(tags.find((tag) => tag.track === 'video' && !tag.isSequenceHeader)?.timestampMs).toBeLessThanOrEqual(2);
  });
});
