import { setTimeout as sleep } from 'node:timers/promises';
import { createRecordings, type PlatformMessage, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { campaignSize, campaignTimeoutMs, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startConnectionDropper } from './testing/connection-dropper.ts';
import { type FuzzOptions, formatCounts, fuzz } from './testing/fuzzer.ts';
import {
  type ApiResponse,
  getJson,
  type ProductHarness,
  startHarness,
  type TerminalSetup,
  uniquePhone,
} from './testing/harness.ts';

/** FUZZ_SEED selects other requests, FUZZ_EXAMPLES a larger number. */
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const examples = campaignSize({ what: 'requests of an operation', normal: 20, long: 800, setting: 'FUZZ_EXAMPLES' });
/** The example IMEI of the OpenAPI document, which the test cases at the bounds of the schemas use. */
const exampleImei = '013800138000';
const minuteMs = 60_000;
/** End of the recordings of all devices. */
const untilMs = Math.floor(Date.now() / minuteMs) * minuteMs;
const subtractMinutes = (minutes: number): string => new Date(untilMs - minutes * minuteMs).toISOString();

let harness: ProductHarness;
let settings: Pick<FuzzOptions, 'known' | 'operations'>;

/**
 * Replies to 0x8105 with success without executing the command: the terminal would disconnect for the rest of the test
 * or dial another server.
 */
function staysHere(message: PlatformMessage): { messageId: number; body: Buffer }[] | undefined {
  if (message.messageId !== 0x8105) return undefined;
  const body = Buffer.alloc(5);
  body.writeUInt16BE(message.serial, 0);
  body.writeUInt16BE(message.messageId, 2);
  return [{ messageId: 0x0001, body }];
}

/**
 * Starts a terminal whose cameras stream only to this machine. It has recordings of the last minutes and one at the
 * example time of the OpenAPI document.
 */
function camera(setup: TerminalSetup = {}): Promise<SimulatedTerminal> {
  const plan = { channels: [1, 2], seconds: 60, bitrateKbps: 100 };
  const recordings = [
    ...createRecordings({ ...plan, count: 1, until: new Date('2026-08-01T11:00:00+08:00') }),
    ...createRecordings({ ...plan, count: 10, until: new Date(untilMs) }),
  ];
  return harness.startTerminal({ respond: staysHere, mediaHost: '127.0.0.1', recordings, ...setup });
}

async function startDevices(): Promise<string[]> {
  const good = [
    await camera({ phone: exampleImei, edition: '2013' }),
    await camera({ phone: uniquePhone(20), edition: '2019' }),
  ];
  const refusing = await camera();
  refusing.setBehaviour({ kind: 'refusing', result: 1 });
  const silent = await camera();
  silent.setBehaviour({ kind: 'silent' });
  const garbled = await camera();
  garbled.setBehaviour({ kind: 'garbage', form: 'cutBody' });
  const often = [...good, ...good, ...good].map(({ phone }) => phone);
  return [...often, refusing.phone, silent.phone, garbled.phone, uniquePhone()];
}

const waitForUpload = async (id: string): Promise<{ status: string }> =>
  (await harness.get(`/videos?video_id=${id}`)).body as { status: string };

async function requestUpload({ phone }: SimulatedTerminal, minutesAgo: number): Promise<string> {
  const span = `start_time=${subtractMinutes(minutesAgo)}&end_time=${subtractMinutes(minutesAgo - 1)}`;
  const { status, body } = await harness.get(`/videos/upload?imei=${phone}&channel=1&${span}`);
  expect({ status, body }).toMatchObject({ status: 200, body: { result: 'success' } });
  return (body as { video_id: string }).video_id;
}

/** Creates uploads in each status and returns their ids. */
async function createUploads(): Promise<string[]> {
  const act = (id: string, action: number): Promise<ApiResponse> =>
    harness.get(`/videos/control?video_id=${id}&action=${action}`);
  const slow = { uploadBytesPerSecond: 1_000 };
  const ids: string[] = [];
  const fast = await camera();
  for (let minutes = 9; minutes > 5; minutes -= 1) {
    const id = await requestUpload(fast, minutes);
    await waitFor(async () => (await waitForUpload(id)).status === 'completed', 'an upload to be complete');
    ids.push(id);
  }
  const cancelled = await camera(slow);
  for (let minutes = 9; minutes > 5; minutes -= 1) {
    const id = await requestUpload(cancelled, minutes);
    expect((await act(id, 2)).status).toBe(200);
    ids.push(id);
  }
  for (const actions of [[], [], [0], [0]]) {
    const id = await requestUpload(await camera(slow), 5);
    for (const action of actions) expect((await act(id, action)).status).toBe(200);
    ids.push(id);
  }
  return ids;
}

type KnownValues = FuzzOptions['known'];

/** Returns the same values for the fields of a body. */
const inBody = (known: KnownValues): KnownValues =>
  Object.fromEntries(Object.entries(known).map(([name, values]) => [`body.${name}`, values]));

beforeAll(async () => {
  harness = await startHarness({
    DEVICE_REPLY_TIMEOUT_MS: '1000',
    UPLOAD_CONTROL_TIMEOUT_MS: '1000',
    REQUEST_TIMEOUT_MS: '5000',
    FIRST_PACKET_WAIT_MS: '500',
    RATE_LIMIT_VIEWERS_PER_CHANNEL: '10000',
    RATE_LIMIT_CHANNELS_PER_DEVICE: '10000',
    // Generated hosts are refused, so that no camera connects to a server outside this machine.
    DEVICE_HOST_ALLOWLIST: '127.0.0.1',
  });
  const { jt1078, ftp } = harness.product.runtime;
  const channel = { values: [1, 2], share: 0.7 };
  const shared = {
    host: { values: ['127.0.0.1'], share: 0.9 },
    tcp_port: { values: [jt1078.live_port], share: 0.9 },
    port: { values: [ftp.port], share: 0.9 },
    start_time: { values: [9, 8, 7].map(subtractMinutes), share: 0.8 },
    end_time: { values: [6, 5, 4].map(subtractMinutes), share: 0.8 },
    drag_playback_time: { values: [subtractMinutes(6)], share: 0.5 },
  };
  const known = {
    imei: { values: await startDevices(), share: 0.8 },
    channel,
    'body.channel': channel,
    'body.text': { values: ['Please call the dispatcher', '请回电'], share: 0.6 },
    ...shared,
    ...inBody(shared),
    video_id: { values: [...(await createUploads()), 'f'.repeat(24)], share: 0.8 },
  };
  const recordingValues = {
    resource_type: { values: [0, 3], share: 0.9 },
    stream_type: { values: [1], share: 0.9 },
    memory_type: { values: [1], share: 0.9 },
  };
  const uploadValues = { ...recordingValues, alarm: { values: [0], share: 0.8 } };
  const playbackValues = { ...recordingValues, tcp_port: { values: [jt1078.history_port], share: 0.9 } };
  const hasFurtherRules = true;
  const operations = {
    // The host has to be in the allow-list, and one of the two ports is required.
    startRealtimeStream: { hasFurtherRules },
    startStream: { hasFurtherRules },
    // Parameters depend on the command, and the text allows only characters of GBK.
    sendControlCommand: { hasFurtherRules },
    sendText: { hasFurtherRules },
    // The times have to be in order and within the century of the camera's clock. A seek requires a time, an upload a
    // network.
    listRecordings: { hasFurtherRules },
    controlHistoryStream: { hasFurtherRules },
    controlPlayback: { hasFurtherRules },
    // A reader waits only for the next part of its playlist; a conversation needs a websocket handshake.
    readPlaylist: { hasFurtherRules },
    talk: { hasFurtherRules },
    requestUpload: { hasFurtherRules, known: { ...uploadValues, ...inBody(uploadValues) } },
    startHistoryStream: { hasFurtherRules, known: playbackValues },
    startPlayback: { hasFurtherRules, known: inBody(playbackValues) },
  };
  settings = { known, operations };
}, 300_000);

afterAll(() => harness?.stop(), 60_000);

/** Restarts the playback of a recording whenever it has ended, so that stream.flv has data. */
async function playRepeatedly(signal: AbortSignal): Promise<void> {
  const span = `start_time=${subtractMinutes(9)}&end_time=${subtractMinutes(1)}`;
  const what = `${span}&resource_type=3&stream_type=1&memory_type=1`;
  while (!signal.aborted) {
    await harness.get(`/history/start-stream?imei=${exampleImei}&channel=1&${what}`);
    await sleep(500);
  }
}

interface Document {
  paths: Record<string, Record<string, { parameters: { name: string; schema: Schema }[] }>>;
  components: { schemas: Record<string, { properties?: Record<string, Schema> }> };
}
interface Schema {
  examples?: unknown[];
}

/** Guests need the token of a share link, without which every request is 401. Tests of share links have tokens. */
const isForGuests = (path: string): boolean => path.startsWith('/s/');

/**
 * Replaces the example addresses of the document with those of this product. The documented ones do not exist and would
 * be refused. Removes stream tokens: generated ones are forged, so that every request would be 401.
 */
function adjustDocument(document: Document): Document {
  const { jt1078, ftp } = harness.product.runtime;
  const copy = structuredClone(document);
  const own = { host: '127.0.0.1', port: ftp.port, tcp_port: jt1078.live_port };
  const change = (schemas: Record<string, Schema | undefined>, values: Record<string, unknown>): void => {
    for (const [name, value] of Object.entries(values)) {
      const schema = schemas[name];
      if (schema !== undefined) schema.examples = [value];
    }
  };
  for (const path of Object.keys(copy.paths)) if (isForGuests(path)) delete copy.paths[path];
  for (const [path, methods] of Object.entries(copy.paths))
    for (const operation of Object.values(methods)) {
      const parameters = operation.parameters.filter(({ name }) => name !== 'token');
      operation.parameters = parameters;
      const isHistory = path.includes('/history/');
      const values = isHistory ? { ...own, tcp_port: jt1078.history_port } : own;
      change(Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])), values);
    }
  for (const { properties = {} } of Object.values(copy.components.schemas)) change(properties, own);
  return copy;
}

const doors = {
  'the Device API': () => [harness.product.runtime.base_url, '/api/v1/openapi.json'] as const,
  'the video service': () => [harness.product.runtime.video_url, '/openapi.json'] as const,
};

/** Operations that no generated request can complete. Tests of their own do. */
const withoutSuccess = new Set([
  // The devices have no vehicle.
  'POST /{imei}/media-capture',
  // Only a playlist names the files that exist.
  'GET /{imei}/{channel}/hls/{file}',
  // The requests are no websocket handshakes.
  'GET /{imei}/{channel}/talk',
]);

describe('requests of every kind that the OpenAPI document allows or forbids', () => {
  it.each(Object.entries(doors))(
    'get only responses that the document describes, at %s',
    async (name, door) => {
      const [base, path] = door();
      const dropper = await startConnectionDropper(base);
      const document = (await getJson(`${base}${path}`)).body as Document;
      const done = new AbortController();
      const playing = playRepeatedly(done.signal);
      try {
        const adjustedDocument = adjustDocument(document);
        const result = await fuzz({ document: adjustedDocument, baseUrl: dropper.url, seed, examples, ...settings });
        console.log(`Contract fuzz of ${name}, seed ${seed}: ${formatCounts(result)}`);
        if (result.exitCode !== 0)
          throw new Error(`schemathesis reported failures:
${result.output}`);
        const described = Object.entries(adjustedDocument.paths).flatMap(([at, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${at}`),
        );
        expect([...result.operations.keys()].toSorted()).toEqual(described.toSorted());
        // Each operation received valid and invalid requests, and at least one device executed it.
        const poor = [...result.operations].filter(
          ([operation, { positive, negative, statuses }]) =>
            positive === 0 || negative === 0 || (statuses[200] === undefined && !withoutSuccess.has(operation)),
        );
        expect(poor).toEqual([]);
      } finally {
        done.abort();
        await playing;
        await dropper.stop();
      }
    },
    campaignTimeoutMs(600_000),
  );
});
