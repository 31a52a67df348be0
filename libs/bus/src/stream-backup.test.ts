import { createLogger } from '@fleet/service-kit';
import { ServerProcess } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ErrorCode, NatsError } from 'nats';
import { type Bus, openBus } from './connection.ts';
import { deleteStream, listStreams, restoreStream, type StreamDescription, startSnapshot } from './stream-backup.ts';

// NATS ends an unfinished restore after five seconds.
jest.setTimeout(60_000);

const messages = 20;
let server: ServerProcess;
let bus: Bus;
let description: StreamDescription;
let chunks: Uint8Array[];

beforeEach(async () => {
  server = await (await ServerProcess.nats()).start();
  bus = await openBus(`nats://127.0.0.1:${server.port}`, {
    name: 'stream-backup-test',
    log: createLogger('stream-backup-test', 'silent'),
  });
  await (await bus.jetstreamManager()).streams.add({ name: 'REPORTS', subjects: ['reports'] });
  for (let index = 0; index < messages; index += 1) await bus.nc.jetstream().publish('reports', `report ${index}`);
  const snapshot = await startSnapshot(bus, 'REPORTS', { hasConsumers: false });
  description = snapshot.description;
  chunks = [];
  for await (const chunk of snapshot.chunks) chunks.push(Uint8Array.from(chunk));
  await deleteStream(bus, 'REPORTS');
});

afterEach(async () => {
  await bus.close();
  await server.remove();
});

const noConsumers = { replicas: 1, consumers: [] };

describe('the restore of a stream', () => {
  it('begins again after a cluster has forgotten it', async () => {
    let attempts = 0;
    async function* readSnapshot() {
      attempts += 1;
      yield* chunks.slice(0, 1);
      // The next chunk of the first attempt has no receiver.
      if (attempts === 1) throw NatsError.errorForCode(ErrorCode.NoResponders);
      yield* chunks.slice(1);
    }
    await restoreStream(bus, description, readSnapshot, noConsumers);
    expect(attempts).toBe(2);
    expect(await listStreams(bus)).toMatchObject([{ name: 'REPORTS', messages, lastSequence: messages }]);
  });

  it('ends with the error of a backup that cannot be read', async () => {
    let attempts = 0;
    const readSnapshot = (): AsyncIterable<Uint8Array> => {
      attempts += 1;
      throw new Error('The file is damaged.');
    };
    await expect(restoreStream(bus, description, readSnapshot, noConsumers)).rejects.toThrow('The file is damaged.');
    expect(attempts).toBe(1);
  });
});
