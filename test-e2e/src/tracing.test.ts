import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OtlpReceiver, type ReceivedSpan, selfSigned, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AlarmReceiver } from './testing/alarm-receiver.ts';
import { AlarmedVehicle } from './testing/alarmed-vehicle.ts';
import { getJson, type StartedHarness, startHarness } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

jest.setTimeout(300_000);

const spanTimeoutMs = 120_000;
/** Bits of the alarm word. Each alarm of a test has its own: a repeated one within 30 seconds is the same event. */
const alarmBits = { sos: 0, fatigue: 2, gnssFault: 4, antenna: 5 } as const;
const textCommand = '33536';

let collector: OtlpReceiver;
let webhooks: AlarmReceiver;
let harness: StartedHarness;
let client: PlatformClient;
let vehicle: AlarmedVehicle;
let partnerToken: string;

beforeAll(async () => {
  collector = await OtlpReceiver.start();
  webhooks = await AlarmReceiver.start(selfSigned());
  harness = await startHarness({
    ...collector.settings,
    ...webhooks.settings,
    LOG_LEVEL: 'debug',
    PARTNER_COMMAND_ENABLED: 'true',
    WEBHOOK_RETRY_WAITS_MS: '1000,1000,1000',
  });
  client = await PlatformClient.logIn(harness);
  await client.requestData('/user-webhooks', { url: webhooks.url });
  partnerToken = String((await client.requestData('/partners', { name: 'Traced' }))['token']);
  vehicle = await AlarmedVehicle.start(harness, client, 'TRACED 1');
}, 300_000);

afterAll(async () => {
  await harness?.stop();
  await webhooks?.stop();
  await collector?.stop();
}, 120_000);

/** Sends a text to the terminal as a partner's client, which continues the trace of its caller. */
async function sendText(text: string, traceparent?: string) {
  const fields = {
    deviceImei: vehicle.terminal.phone,
    cmdContent: text,
    proNo: textCommand,
    cmdType: 'normallns',
    token: partnerToken,
    timeOut: '30',
    sync: 'true',
  };
  const { status, body } = await getJson(`${harness.product.runtime.base_url}/api/device/sendInstruct`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: traceparent === undefined ? {} : { traceparent },
  });
  return { status, body };
}

async function raiseAlarm(bit: number): Promise<void> {
  await vehicle.raise(bit);
  await vehicle.report();
}

/** Waits for a span with its ancestors up to the first one of the trace; returns them, the first one last. */
async function waitForChain(
  what: string,
  length: number,
  isWanted: (span: ReceivedSpan) => boolean,
): Promise<ReceivedSpan[]> {
  const find = () => collector.spans.filter(isWanted).map((span) => collector.findChain(span));
  await waitFor(() => find().some((chain) => chain.length >= length), what, spanTimeoutMs);
  return find().find((chain) => chain.length >= length) ?? [];
}

const describeSpan = ({ service, kind, name }: ReceivedSpan): string => `${service}: ${kind} ${name}`;

describe('the trace of a command', () => {
  const traceId = randomBytes(16).toString('hex');
  const callerSpanId = randomBytes(8).toString('hex');
  let chain: ReceivedSpan[];

  beforeAll(async () => {
    const response = await sendText('Come back', `00-${traceId}-${callerSpanId}-01`);
    expect(response).toMatchObject({ status: 200, body: { code: 0 } });
    chain = await waitForChain('the trace of the command', 4, (span) => span.name === 'JT/T 808 0x8300');
  });

  it('leads from the HTTP request through NATS to the terminal and back', () => {
    expect(chain.map(describeSpan)).toEqual([
      'jt808-gateway: client JT/T 808 0x8300',
      'jt808-gateway: consumer process device.*.command',
      'device-api: producer request device.*.command',
      'device-api: server POST /api/device/sendInstruct',
    ]);
    expect(chain.map(({ isFailed }) => isFailed)).toEqual([false, false, false, false]);
    expect(chain[0]?.attributes).toMatchObject({ 'jt808.message.id': '0x8300', 'network.protocol.name': 'jt808' });
    expect(chain[3]?.attributes).toMatchObject({ 'http.response.status_code': 200 });
  });

  it('continues the trace of the caller', () => {
    expect(new Set(chain.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(chain[3]?.parentSpanId).toBe(callerSpanId);
  });

  it('is named by the log lines of the command', () => {
    const file = join(harness.product.dataDir, 'logs', 'jt808-gateway.log');
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"command ended"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual(
      expect.objectContaining({ trace_id: traceId, imei: vehicle.terminal.phone, outcome: 'answered' }),
    );
  });
});

describe('the trace of an alarm', () => {
  const deliveryChain = [
    'webhook-dispatcher: client POST',
    'webhook-dispatcher: internal webhook attempt',
    'webhook-dispatcher: consumer process webhook.due.*',
    'webhook-dispatcher: producer publish webhook.due.*',
    'webhook-dispatcher: consumer process notification.*.*',
    'platform-api: producer publish notification.*.*',
    'platform-api: consumer process telemetry.*',
    'jt808-gateway: producer publish telemetry.*',
  ];

  it("leads from the terminal's message through three streams to the webhook's response", async () => {
    await raiseAlarm(alarmBits.sos);
    const chain = await waitForChain('the trace of the alarm', deliveryChain.length, isDelivered);
    expect(chain.map(describeSpan)).toEqual(deliveryChain);
    expect(chain.at(-1)?.parentSpanId).toBe('');
    expect(chain.every(({ isFailed }) => !isFailed)).toBe(true);
    expect(chain[1]?.attributes).toMatchObject({
      'fleet.notification.type': 'sos',
      'fleet.webhook.trigger': 'schedule',
    });
  });

  it('contains the failed attempt and the later one that succeeds', async () => {
    webhooks.status = 500;
    const before = webhooks.delivered.length;
    await raiseAlarm(alarmBits.fatigue);
    await waitFor(() => webhooks.delivered.length > before, 'a failed delivery', spanTimeoutMs);
    webhooks.status = 200;
    const isRetried = (span: ReceivedSpan): boolean =>
      isDelivered(span) && collector.findChain(span)[1]?.attributes['fleet.webhook.attempt'] === 2;
    const [later] = await waitForChain('the trace of the second attempt', 6, isRetried);
    const failed = collector.spans.find(
      (span) => span.traceId === later?.traceId && span.name === 'POST' && span.isFailed,
    );
    expect(failed?.attributes).toMatchObject({ 'http.response.status_code': 500, 'error.type': '500' });
  });

  it('is not sent to the webhook', () => {
    expect(webhooks.delivered.length).toBeGreaterThan(0);
    expect(webhooks.delivered.flatMap(({ headerNames }) => headerNames)).not.toContain('traceparent');
  });
});

const isDelivered = ({ service, kind, attributes }: ReceivedSpan): boolean =>
  service === 'webhook-dispatcher' && kind === 'client' && attributes['http.response.status_code'] === 200;

it('no span contains a terminal number, a token, a secret or the path of a webhook', () => {
  const text = JSON.stringify(collector.spans);
  const secrets = webhooks.delivered.flatMap(({ secret }) => secret ?? []);
  const hidden = [vehicle.terminal.phone, partnerToken, harness.product.runtime.demo.api_key, '/alarms', ...secrets];
  expect(hidden.filter((value) => text.includes(value))).toEqual([]);
  expect(secrets.length).toBeGreaterThan(0);
});

describe('a collector that is not available', () => {
  const hang = async (): Promise<void> => {
    collector.isHanging = true;
  };

  it.each([
    ['does not respond', alarmBits.gnssFault, hang],
    ['cannot be reached', alarmBits.antenna, () => collector.stop()],
  ])('and %s stops neither commands nor alarms', async (_fault, bit, breakCollector) => {
    await breakCollector();
    expect(await sendText('Still here')).toMatchObject({ status: 200, body: { code: 0 } });
    const before = webhooks.delivered.length;
    await raiseAlarm(bit);
    await waitFor(() => webhooks.delivered.length > before, 'a delivery', spanTimeoutMs);
  });
});
