import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createRecordings } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startConnectionDropper } from './testing/connection-dropper.ts';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';

interface Item {
  name: string;
  event?: { script: { exec: string[] } }[];
  request: { method: string; header?: { key: string; value: string }[]; body?: { raw: string }; url: { raw: string } };
}
const collection = JSON.parse(readFileSync(resolve('services/device-api/postman-collection.json'), 'utf8')) as {
  variable: { key: string; value: string }[];
  item: { name: string; item: Item[] }[];
};
/** Variables that a partner sets, and those that the collection's script reads from a response. */
const variables = new Map(collection.variable.map(({ key, value }) => [key, value]));
const fillIn = (text: string): string =>
  text.replace(/\{\{(\w+)\}\}/g, (_all, name: string) => variables.get(name) ?? '');

let harness: ProductHarness;
beforeAll(async () => {
  harness = await joinSharedHarness();
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

async function run({ event, request }: Item): Promise<number> {
  const response = await fetch(fillIn(request.url.raw), {
    method: request.method,
    headers: (request.header ?? []).map(({ key, value }): [string, string] => [key, fillIn(value)]),
    ...(request.body === undefined ? {} : { body: fillIn(request.body.raw) }),
  });
  const responseText = await response.text();
  if (event !== undefined) variables.set('video_id', (JSON.parse(responseText) as { video_id: string }).video_id);
  return response.status;
}

it('every request of the Postman collection gets the documented response, in order', async () => {
  const end = new Date();
  const terminal = await harness.startTerminal({
    recordings: createRecordings({ channels: [1], count: 10, seconds: 60, until: end, bitrateKbps: 100 }),
    uploadBytesPerSecond: 1_000,
    // The example control command is a restart, which would disconnect the terminal.
    restartMs: 10,
  });
  const dropper = await startConnectionDropper(harness.product.runtime.base_url);
  const ago = (minutes: number): string => new Date(end.getTime() - minutes * 60_000).toISOString();
  const own = { base_url: dropper.url, imei: terminal.phone, start_time: ago(8), end_time: ago(6) };
  for (const [name, value] of Object.entries(own)) variables.set(name, value);
  const statuses: [string, number][] = [];
  try {
    for (const { item } of collection.item)
      for (const one of item) {
        const { pathname } = new URL(fillIn(one.request.url.raw));
        const logins = terminal.sentFrames(0x0102).length;
        statuses.push([`${one.request.method} ${pathname}`, await run(one)]);
        if (pathname.endsWith('/send-control-command'))
          await waitFor(() => terminal.sentFrames(0x0102).length > logins, 'the terminal to reconnect');
        await terminal.waitUntilOnline(20_000);
      }
  } finally {
    await dropper.stop();
  }
  expect(statuses).toEqual([
    ['GET /api/v1/health', 200],
    // Nothing streams yet.
    ['GET /api/v1/health/camera', 503],
    ['GET /api/v1/health/device', 200],
    ['POST /api/v1/send-control-command', 200],
    ['POST /api/v1/send-text', 200],
    ['GET /api/v1/wakeup', 200],
    ['GET /api/v1/realtime/start-stream', 200],
    ['GET /api/v1/realtime/stream.flv', 200],
    ['GET /api/v1/realtime/control-stream', 200],
    ['GET /api/v1/history/list-videos', 200],
    ['GET /api/v1/history/start-stream', 200],
    ['GET /api/v1/history/stream.flv', 200],
    ['GET /api/v1/history/control-stream', 200],
    ['GET /api/v1/videos/upload', 200],
    ['GET /api/v1/videos', 200],
    ['GET /api/v1/videos/control', 200],
    ['GET /api/v1/videos/list', 200],
    ['GET /api/v1/videos/file', 409],
    // Half of the file has been sent, and the upload is paused.
    ['DELETE /api/v1/videos', 403],
  ]);
}, 120_000);
