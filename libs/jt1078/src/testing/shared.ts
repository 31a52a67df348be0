import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const protocol = new URL('../../../../../shared/protocol/', import.meta.url);

/** True if the reference vectors and captures exist beside the checkout. A clone without them skips their tests. */
export const hasShared = existsSync(fileURLToPath(protocol));
if (!hasShared) console.log('skipping tests without JT/T 1078 reference vectors and captures');

export const readShared = (path: string): Buffer => readFileSync(fileURLToPath(new URL(path, protocol)));
export const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

interface PacketVector {
  id: string;
  hex: string;
  expect: {
    v: number;
    p: number;
    x: number;
    cc: number;
    marker: number;
    payload_type: number;
    sequence: number;
    sim: string;
    sim_bytes: 6 | 10;
    channel: number;
    data_type: number;
    subpackage: number;
    timestamp: string | number | null;
    last_i_frame_interval: number | null;
    last_frame_interval: number | null;
    header_bytes: number;
    body_length: number;
    packet_bytes: number;
    body_sha256: string;
    body_hex?: string;
  };
}

interface StreamVector {
  id: string;
  hex: string;
  expect: { packets: number; sequences: number[]; body_lengths: number[]; leftover_bytes: number | null };
}

interface ByteVector {
  id: string;
  field: string;
  byte: number;
  expect: Record<string, number>;
}

interface Vectors {
  packets: PacketVector[];
  streams: StreamVector[];
  byte_vectors: ByteVector[];
}

export interface CaptureEntry {
  file: string;
  bytes: number;
  sha256: string;
  sim: string;
  sim_bytes: number;
  channel: number;
  packets: number;
  seq_first: number;
  seq_last: number;
  seq_gaps: number;
  max_body: number;
  markers_set: number;
  subpackage_counts: Record<string, number>;
  video: {
    codec: 'H264' | 'H265';
    payload_type: number;
    frames: number;
    complete_frames: number;
    i_frames: number;
    first_decodable_frame_index: number;
    width: number;
    height: number;
    profile: string;
    level: number;
    decoded_frames_from_first_keyframe: number;
    first_timestamp: number;
    last_timestamp: number;
    duration_s: number;
    frames_with_trailing_zero_bytes: number;
    sps: string[];
    pps: string[];
    es_sha256_of_complete_frames: string;
  } | null;
  audio: {
    codec: string;
    payload_type: number;
    frames: number;
    frame_bytes: number[];
    hisilicon_header: boolean;
    sample_rate: number;
    channels: number;
    first_timestamp: number;
    last_timestamp: number;
    payload_sha256: string;
    samples: number;
    pcm_s16le_sha256: string;
  } | null;
}

export const readVectors = (): Vectors => JSON.parse(readShared('jt1078-vectors.json').toString()) as Vectors;

export const readManifest = (): { captures: CaptureEntry[] } =>
  JSON.parse(readShared('jt1078-captures/manifest.json').toString()) as { captures: CaptureEntry[] };
