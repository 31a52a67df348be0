import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Frame } from '../frame.ts';
import { FrameSplitter, type SplitterOptions } from '../frame-splitter.ts';

const directory = resolve(import.meta.dirname, '../../../../../shared/protocol');

/** One vector of jt808-vectors.json. */
export interface Vector {
  source: string;
  edition: '2011' | '2013' | '2019';
  message_id: string;
  direction: 'up' | 'down';
  frame: string;
  group?: string;
  expect: {
    phone: string;
    serial: number;
    body_length: number;
    encryption: number;
    protocol_version: number | null;
    subpackage: { total: number; no: number } | null;
    body: Record<string, unknown>;
    reassembled_length?: number;
    reassembled_body?: Record<string, unknown>;
  };
}

/** One case of jt808-malformed.json. */
export interface MalformedCase {
  id: string;
  category: string;
  why: string;
  chunks: string[];
  expected: {
    frames: { message_id: string; serial: number; phone: string; quirk?: string }[];
    dropped: Record<string, number>;
    dropped_total: number;
  };
}

/** Reference file of the shared protocol folder, or undefined (with one printed line) when it is not there. */
export function readSharedFile(name: string): unknown {
  const path = resolve(directory, name);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  process.stdout.write(`${name} is not there: its tests are skipped\n`);
  return undefined;
}

/** Element that must be there. */
export function elementAt<T>(list: readonly T[], index: number): T {
  const element = list.at(index);
  if (element === undefined) throw new Error(`there are only ${list.length} elements`);
  return element;
}

/** Frames of some reads. */
export function split(
  chunks: readonly Buffer[],
  options: SplitterOptions = {},
): { frames: Frame[]; splitter: FrameSplitter } {
  const frames: Frame[] = [];
  const splitter = new FrameSplitter(options);
  for (const chunk of chunks) splitter.push(chunk, (frame) => frames.push(frame));
  return { frames, splitter };
}

/** The only frame of some hex. */
export function onlyFrame(hex: string): Frame {
  const { frames } = split([Buffer.from(hex, 'hex')]);
  const [frame] = frames;
  if (frame === undefined || frames.length !== 1) throw new Error(`${frames.length} frames in ${hex}`);
  return frame;
}
