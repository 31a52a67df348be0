import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { campaignSize, campaignTimeoutMs, propertySeed } from '@fleet/testing';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Edition, editions } from './edition.ts';
import { encodeRawMessage } from './encode-message.ts';
import { formatMessageBody } from './format.ts';
import { encodeFrame, type Frame, maxWireBytes } from './frame.ts';
import { FrameSplitter } from './frame-splitter.ts';
import { encodeBody, type MessageDefinition, tryDecodeBody } from './message.ts';
import { Reassembler } from './reassembler.ts';
import { allMessages, messageById } from './registry.ts';
import { bodyArbitrary } from './testing/arbitraries.ts';
import { elementAt } from './testing/shared.ts';

const inputCount = campaignSize({ what: 'random and damaged inputs', normal: 1_000_000 });

// Global lookups are slow inside jest's contexts, and this one is needed for every random byte.
const { imul } = Math;

/** Creates a small seeded generator (mulberry32); its seed repeats a failing run. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

interface Sample {
  definition: MessageDefinition;
  edition: Edition;
  body: Buffer;
  frames: Buffer[];
}

/** Returns a few valid bodies of every message in every edition, and their frames. */
function samples(): Sample[] {
  return allMessages.flatMap((definition) =>
    editions.flatMap((edition) => {
      const fields = definition.layouts?.[edition] ?? definition.body;
      return fc.sample(bodyArbitrary(fields, edition), { numRuns: 3, seed: propertySeed }).map((values) => {
        const body = encodeBody(definition, values, edition);
        const header = { edition, phone: '123456789012', serial: 7, maxBodyBytes: 60 };
        return { definition, edition, body, frames: encodeRawMessage(definition.id, body, header) };
      });
    }),
  );
}

class Fuzzer {
  readonly random = generator(propertySeed);
  readonly splitter = new FrameSplitter();
  readonly reassembler = new Reassembler({ now: () => this.nowMs, maxBytes: 4_000_000, maxBytesPerTerminal: 100_000 });
  readonly #samples = samples();
  nowMs = 0;
  frames = 0;
  reassembled = 0;
  invalidBodies = 0;

  readonly onFrame = (frame: Frame): void => {
    this.frames += 1;
    const edition = elementAt(editions, this.random(3));
    if (frame.subpackage === null) {
      this.#decode(messageById(frame.messageId), frame.body, edition);
      return;
    }
    const outcome = this.reassembler.push(String(this.random(50)), frame);
    if (outcome.kind !== 'complete') return;
    this.reassembled += 1;
    this.#decode(messageById(frame.messageId), outcome.message.body, edition);
  };

  #decode(definition: MessageDefinition | undefined, body: Buffer, edition: Edition): void {
    if (definition === undefined) return;
    if (this.random(20) === 0) formatMessageBody(definition.id, body, edition);
    else if (!tryDecodeBody(definition, body, edition).ok) this.invalidBodies += 1;
  }

  #damage(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes.subarray(0, this.random(4) === 0 ? this.random(bytes.length + 1) : bytes.length));
    for (let flips = this.random(4); flips > 0 && copy.length > 0; flips -= 1)
      copy[this.random(copy.length)] = this.random(256);
    return copy;
  }

  #noise(size: number): Buffer {
    const bytes = Buffer.allocUnsafe(size);
    for (let i = 0; i < size; i += 1) bytes[i] = this.random(16) === 0 ? 0x7d + this.random(2) : this.random(256);
    return bytes;
  }

  /** Processes one input: a body, a whole or damaged frame, a part, or noise. */
  step(): void {
    const sample = elementAt(this.#samples, this.random(this.#samples.length));
    const frame = elementAt(sample.frames, this.random(sample.frames.length));
    switch (this.random(8)) {
      case 0:
        this.#decode(sample.definition, this.#noise(this.random(80)), sample.edition);
        break;
      case 1:
      case 2:
        this.#decode(sample.definition, this.#damage(sample.body), elementAt(editions, this.random(3)));
        break;
      case 3:
        this.splitter.push(this.#noise(this.random(60)), this.onFrame);
        break;
      case 4:
      case 5:
        this.splitter.push(this.#damage(frame), this.onFrame);
        break;
      case 6: {
        const border = this.random(frame.length);
        this.splitter.push(frame.subarray(0, border), this.onFrame);
        this.splitter.push(frame.subarray(border), this.onFrame);
        break;
      }
      default:
        // A valid frame and check byte around a damaged body, so that the input reaches the body decoders.
        this.splitter.push(
          encodeFrame({
            messageId: sample.definition.id,
            edition: sample.edition,
            phone: '123456789012',
            serial: this.random(4),
            body: this.#damage(sample.body).subarray(0, 1023),
            subpackage: this.random(4) === 0 ? { total: this.random(4), no: this.random(4) } : null,
          }),
          this.onFrame,
        );
    }
  }

  /** Returns true if a flag and a valid frame after any input yield that frame. */
  doesResynchronise(serial: number): boolean {
    let found = false;
    const heartbeat = encodeFrame({ messageId: 0x0002, phone: '123456789012', serial });
    this.splitter.push(Buffer.concat([Buffer.from([0x7e]), heartbeat]), (frame) => {
      found ||= frame.messageId === 0x0002 && frame.serial === serial;
    });
    return found;
  }
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it(
  `handles a million random and damaged inputs (PROPERTY_SEED=${propertySeed} repeats this run)`,
  () => {
    const fuzzer = new Fuzzer();
    for (let i = 0; i < inputCount / 10; i += 1) fuzzer.step();
    const before = usedBytes();
    for (let i = inputCount / 10; i < inputCount; i += 1) {
      fuzzer.step();
      if (i % 100 === 0) {
        if (!fuzzer.doesResynchronise(i & 0xffff)) throw new Error(`the frame after input ${i} was lost`);
        if (fuzzer.splitter.pendingBytes > maxWireBytes)
          throw new Error(`the splitter buffers input ${i} beyond the limit`);
        fuzzer.nowMs += 10;
      }
      if (i % 10_000 === 0) fuzzer.reassembler.poll();
    }
    fuzzer.nowMs += 1_000_000;
    fuzzer.reassembler.poll();
    expect([fuzzer.reassembler.bufferedBytes, fuzzer.reassembler.openTransfers]).toEqual([0, 0]);
    // A leak of fifty bytes per input would exceed this.
    expect(usedBytes() - before).toBeLessThan(48 * 1024 * 1024);
    // Asserts that the inputs reached the decoders.
    expect(fuzzer.frames).toBeGreaterThan(inputCount / 5);
    expect(fuzzer.reassembled).toBeGreaterThan(1_000);
    expect(fuzzer.invalidBodies).toBeGreaterThan(10_000);
  },
  campaignTimeoutMs(300_000),
);
