import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FlvTagType, parseH264Sps, readVideoTag } from '@fleet/jt1078';
import type { DemuxedTag } from '@fleet/jt1078/testing';
import {
  type Clip,
  clipFrameHashes,
  decodedFrameHashes,
  getFfmpegPath,
  runFfmpeg,
  type SimulatedTerminal,
} from '@fleet/terminal-simulator';

/** Passes FLV bytes to `use` as a temporary file. */
async function withFile<T>(bytes: Buffer, use: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-flv-'));
  const file = join(folder, 'stream.flv');
  writeFileSync(file, bytes);
  try {
    return await use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the MD5 of each picture that ffmpeg decodes from FLV bytes. */
export const decodePictureHashes = (flv: Buffer): Promise<string[]> =>
  withFile(flv, (file) => decodedFrameHashes(file, { format: 'flv' }));

/** Returns the picture sizes of the sequence headers of FLV tags, each once, in order. */
export function readSizes(tags: readonly DemuxedTag[]): string[] {
  const sizes: string[] = [];
  for (const tag of tags) {
    const video = tag.type === FlvTagType.VIDEO ? readVideoTag(tag.body) : null;
    if (video?.isSequenceHeader !== true) continue;
    // AVCDecoderConfigurationRecord: the first SPS follows a 16-bit length at byte 6.
    const sps = parseH264Sps(video.data.subarray(8, 8 + video.data.readUInt16BE(6)));
    sizes.push(sps === null ? 'unreadable' : `${sps.width}x${sps.height}`);
  }
  return [...new Set(sizes)];
}

/** Returns the sound of FLV bytes as 16-bit samples, mono, 8 kHz. */
export async function decodeSound(flv: Buffer): Promise<Int16Array> {
  const output = ['-map', '0:a:0', '-ac', '1', '-ar', '8000', '-f', 's16le', '-'];
  const pcm = await withFile(flv, (file) => runFfmpeg(getFfmpegPath(), ['-f', 'flv', '-i', file, ...output]));
  return new Int16Array(pcm.buffer, pcm.byteOffset, Math.floor(pcm.length / 2));
}

/**
 * Returns the power of one tone in the middle second of 8 kHz sound, relative to the total: near 1 for that tone alone
 * (Goertzel).
 */
export function measureToneShare(samples: Int16Array, toneHz: number): number {
  const from = Math.max(0, Math.floor(samples.length / 2) - 4000);
  const part = samples.subarray(from, from + 8000);
  const k = 2 * Math.cos((2 * Math.PI * toneHz) / 8000);
  let [last, beforeLast, energy] = [0, 0, 0];
  for (const sample of part) {
    [last, beforeLast] = [sample + k * last - beforeLast, last];
    energy += sample * sample;
  }
  const power = last * last + beforeLast * beforeLast - k * last * beforeLast;
  return (2 * power) / (part.length * energy);
}

/** Returns the MD5 of each picture of a clip that a camera has sent, in order; its record has the latest ones. */
export async function hashSentPictures(terminal: SimulatedTerminal, clip: Clip): Promise<string[]> {
  const hashes = await clipFrameHashes(clip);
  return terminal.cameras.records.flatMap(({ sentVideoFrames }) =>
    sentVideoFrames.filter(({ clipKey }) => clipKey === clip.key).map(({ clipIndex }) => hashes[clipIndex] ?? ''),
  );
}

/**
 * Returns the part of the sent pictures that agrees longest with the received ones: equal to them if none is missing.
 */
export function findSentPart(received: readonly string[], sent: readonly string[]): readonly string[] {
  const countEqual = (start: number): number => {
    const end = received.findIndex((hash, n) => hash !== sent[start + n]);
    return end === -1 ? received.length : end;
  };
  let best = { start: 0, count: 0 };
  for (const start of sent.keys()) {
    const count = countEqual(start);
    if (count > best.count) best = { start, count };
  }
  return sent.slice(best.start, best.start + received.length);
}
