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

/**
 * Reads a reference file of the shared protocol folder; returns undefined (and prints one line) if it does not exist.
 */
export function readSharedFile(name: string): unknown {
  const path = resolve(directory, name);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  process.stdout.write(`${name} does not exist: its tests are skipped\n`);
  return undefined;
}

/** Returns an element that must exist. */
export function elementAt<T>(list: readonly T[], index: number): T {
  const element = list.at(index);
  if (element === undefined) throw new Error(`the list has only ${list.length} elements`);
  return element;
}

/** Returns the frames of the reads. */
export function split(
  chunks: readonly Buffer[],
  options: SplitterOptions = {},
): { frames: Frame[]; splitter: FrameSplitter } {
  const frames: Frame[] = [];
  const splitter = new FrameSplitter(options);
  for (const chunk of chunks) splitter.push(chunk, (frame) => frames.push(frame));
  return { frames, splitter };
}

/** Returns the only frame of the hex. */
export function onlyFrame(hex: string): Frame {
  const { frames } = split([Buffer.from(hex, 'hex')]);
  const [frame] = frames;
  if (frame === undefined || frames.length !== 1) throw new Error(`expected one frame in ${hex}, got ${frames.length}`);
  return frame;
}
