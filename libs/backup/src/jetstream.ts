import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Bus,
  type ConsumerPosition,
  listConsumerPositions,
  listStreams,
  restoreStream,
  type StoredStream,
  startSnapshot,
} from '@fleet/bus';
import { readArchive, writeArchive } from './archive.ts';
import { BackupError } from './backup-error.ts';
import type { StreamEntry } from './manifest.ts';

const folderName = 'jetstream';

/** Streams of which messages remain after their acknowledgement, with the positions of their durable consumers. */
type Logs = ReadonlyMap<string, readonly ConsumerPosition[]>;

/**
 * Backs up the work queues with their consumers, and returns the positions in the other streams. Both come before the
 * database: a message that is acknowledged later is processed again after a restore.
 */
export async function backUpWorkQueues(bus: Bus, folder: string): Promise<{ entries: StreamEntry[]; logs: Logs }> {
  await mkdir(join(folder, folderName), { recursive: true, mode: 0o700 });
  const streams = await listStreams(bus);
  const logs = new Map<string, readonly ConsumerPosition[]>();
  for (const { name, isWorkQueue } of streams) if (!isWorkQueue) logs.set(name, await listConsumerPositions(bus, name));
  const entries: StreamEntry[] = [];
  for (const stream of streams) if (stream.isWorkQueue) entries.push(await backUpStream(bus, folder, stream.name));
  return { entries, logs };
}

/** Backs up the messages of the other streams. It comes after the database, so that they contain all offsets in it. */
export async function backUpLogs(bus: Bus, folder: string, logs: Logs): Promise<StreamEntry[]> {
  const entries: StreamEntry[] = [];
  for (const [name, positions] of logs) entries.push(await backUpStream(bus, folder, name, positions));
  return entries;
}

async function backUpStream(
  bus: Bus,
  folder: string,
  name: string,
  positions?: readonly ConsumerPosition[],
): Promise<StreamEntry> {
  const file = join(folderName, `${name}.snapshot`);
  const { description, chunks } = await startSnapshot(bus, name, { hasConsumers: positions === undefined });
  const stored = await writeArchive(join(folder, file), chunks);
  const consumers = (positions ?? []).map(({ config, acknowledgedSequence }) => ({
    config: { ...config },
    acknowledgedSequence,
  }));
  const { config, state } = description;
  return {
    name,
    messages: Number(state['messages']),
    description: { config: { ...config }, state: { ...state } },
    consumers,
    file,
    ...stored,
  };
}

/** Restores streams, which must not exist. Throws if messages are missing. */
export async function restoreStreams(
  bus: Bus,
  folder: string,
  entries: readonly StreamEntry[],
  replicas: number,
): Promise<void> {
  for (const { name, messages, description, consumers, file } of entries) {
    const readSnapshot = () => readArchive(join(folder, file));
    await restoreStream(bus, description, readSnapshot, { replicas, consumers }).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new BackupError(
        `The stream ${name} could not be restored (${reason}): check the servers of NATS, then restore again with --replace.`,
        { cause },
      );
    });
    const restored = (await listStreams(bus)).find((stream: StoredStream) => stream.name === name);
    // Messages beyond their retention are deleted at once.
    if (restored === undefined || restored.lastSequence < Number(description.state['last_seq']))
      throw new BackupError(
        `The stream ${name} is incomplete after the restore (${restored?.messages ?? 0} of ${messages} messages): check the log of NATS, then restore again with --replace.`,
      );
  }
}
