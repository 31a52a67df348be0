import { makeRecordings, type PlatformMessage, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fuzz, type KnownValues, shownCounts } from './testing/fuzzer.ts';
import { startStreamCutter } from './testing/stream-cutter.ts';
import { getJson, newPhone, startWorld, type World } from './testing/world.ts';

/** FUZZ_SEED and FUZZ_EXAMPLES: another, or a longer, look at the same. */
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const examples = Number(process.env['FUZZ_EXAMPLES'] ?? 40);
/** What the OpenAPI document gives as an example: the cases at the bounds of the schemas use it. */
const exampleImei =
  '013800138000'; /** Operations with rules that a schema does not have: a valid request by the document may be 400 there. */
const furtherRules = [
  // Hosts that cameras may be sent to.
  'startRealtimeStream',
  'startStream',
  // Commands with parameters of their own; characters of GBK.
  'sendControlCommand',
  'sendText',
];

let world: World;
let known: KnownValues;

/** Success for 0x8105: a terminal that did as it is told would be away for the rest of the test, or dial anywhere. */
function staysHere(message: PlatformMessage): { messageId: number; body: Buffer }[] | undefined {
  if (message.messageId !== 0x8105) return undefined;
  const body = Buffer.alloc(5);
  body.writeUInt16BE(message.serial, 0);
  body.writeUInt16BE(message.messageId, 2);
  return [{ messageId: 0x0001, body }];
}

async function startDevices(): Promise<string[]> {
  const channels = [1, 2];
  const recordings = makeRecordings({ channels, count: 5, seconds: 60, until: new Date(), bitrateKbps: 100 });
  const setup = { respond: staysHere, mediaHost: '127.0.0.1', recordings };
  const good: SimulatedTerminal[] = [
    await world.terminal({ ...setup, phone: exampleImei, edition: '2013' }),
    await world.terminal({ ...setup, phone: newPhone(20), edition: '2019' }),
  ];
  const refusing = await world.terminal(setup);
  refusing.behave({ kind: 'refusing', result: 1 });
  const silent = await world.terminal(setup);
  silent.behave({ kind: 'silent' });
  const garbled = await world.terminal(setup);
  garbled.behave({ kind: 'garbage', form: 'cutBody' });
  const often = [...good, ...good, ...good].map(({ phone }) => phone);
  return [...often, refusing.phone, silent.phone, garbled.phone, newPhone()];
}

beforeAll(async () => {
  world = await startWorld({
    DEVICE_REPLY_TIMEOUT_MS: '1000',
    REQUEST_LIMIT_MS: '5000',
    FIRST_PACKET_WAIT_MS: '500',
    RATE_LIMIT_VIEWERS_PER_CHANNEL: '10000',
    RATE_LIMIT_CHANNELS_PER_DEVICE: '10000',
    // Hosts that are made up are refused, so that no camera dials out of this machine.
    DEVICE_HOST_ALLOWLIST: '127.0.0.1',
  });
  const { jt1078 } = world.product.runtime;
  const imei = { values: await startDevices(), share: 0.8 };
  const channel = { values: [1, 2], share: 0.7 };
  known = {
    imei,
    channel,
    'body.channel': channel,
    'body.text': { values: ['Please call the dispatcher', '请回电'], share: 0.6 },
    host: { values: ['127.0.0.1'], share: 0.9 },
    tcp_port: { values: [jt1078.live_port], share: 0.9 },
  };
}, 180_000);

afterAll(() => world?.stop(), 60_000);

interface Document {
  paths: Record<string, Record<string, unknown>>;
}

const doors = {
  'the Device API': () => [world.product.runtime.base_url, '/api/v1/openapi.json'] as const,
  'the video service': () => [world.product.runtime.video_url, '/openapi.json'] as const,
};

describe('requests of every kind that the OpenAPI document allows or forbids', () => {
  it.each(Object.entries(doors))(
    'find nothing but what the document says, at %s',
    async (name, door) => {
      const [base, path] = door();
      const cutter = await startStreamCutter(base);
      const document = `${cutter.url}${path}`;
      try {
        const result = await fuzz({ document, baseUrl: cutter.url, seed, examples, known, furtherRules });
        console.log(`Contract fuzz of ${name}, seed ${seed}: ${shownCounts(result)}`);
        if (result.exitCode !== 0) throw new Error(`schemathesis has found something:\n${result.output}`);
        const { paths } = (await getJson(document)).body as Document;
        const described = Object.entries(paths).flatMap(([at, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${at}`),
        );
        expect([...result.operations.keys()].toSorted()).toEqual(described.toSorted());
        // Each operation was asked rightly and wrongly, and some device has done what it was asked for.
        const poor = [...result.operations].filter(
          ([, { positive, negative, statuses }]) => positive === 0 || negative === 0 || statuses[200] === undefined,
        );
        expect(poor).toEqual([]);
      } finally {
        await cutter.stop();
      }
    },
    600_000,
  );
});
