import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DeviceCommand, Outcome } from '@fleet/bus';
import { encodeBody, resourceList } from '@fleet/jt808';
import { SsrfGuard } from '@fleet/service-kit';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PartnerClient } from './partner-client.ts';

// Uses real sockets on a machine that may be busy.
jest.setTimeout(60_000);

type Answerer = (form: Record<string, string>, response: ServerResponse, request: IncomingMessage) => void;

const settings = { PARTNER_COMMAND_ALLOW_HTTP: true, PARTNER_COMMAND_ALLOWED_CIDRS: '127.0.0.0/8, ::1' };
const imei = '860112070347838';
const text: DeviceCommand = { kind: 'sendText', text: 'Hello', textType: null, options: null };

let server: Server;
let url: string;
let respond: Answerer;
let forms: Record<string, string>[];
let hubs: PartnerClient;

beforeEach(async () => {
  forms = [];
  respond = (_form, response) => void response.end(JSON.stringify({ code: 0, msg: 'success', data: { _code: '100' } }));
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
      forms.push(form);
      respond(form, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  hubs = new PartnerClient(settings);
});
afterEach(async () => {
  hubs.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const sendCommand = (
  command: DeviceCommand = text,
  more: { timeoutMs?: number; url?: string } = {},
): Promise<Outcome> =>
  hubs.send({
    channel: { url: more.url ?? url, token: 'hub-token' },
    recordedImei: imei,
    command,
    timeoutMs: more.timeoutMs ?? 90_000,
    correlationId: 'request-1',
  });

const says =
  (body: unknown, status = 200): Answerer =>
  (_form, response) => {
    response.statusCode = status;
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

const unreadable = (detail: string) => ({ kind: 'unreadable', detail: expect.stringContaining(detail) });
const clip = {
  channel: 1,
  startTime: '260801100000',
  endTime: '260801110000',
  mediaType: 0,
  streamType: 1,
  storageType: 1,
};

describe('form sent to a hub', () => {
  it('has every field of section 18', async () => {
    let path: string | undefined;
    let headers: IncomingMessage['headers'] = {};
    respond = (_form, response, request) => {
      path = `${request.method} ${request.url}`;
      headers = request.headers;
      response.end('{"code":0}');
    };
    expect(await sendCommand()).toEqual({
      kind: 'answered',
      answer: { commandMessageId: 33_536, commandSerialNo: 0, result: 0, message: null },
    });
    expect(path).toBe('POST /api/device/sendInstruct');
    expect(headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      'x-request-id': 'request-1',
    });
    expect(forms).toEqual([
      {
        deviceImei: imei,
        cmdContent: 'Hello',
        proNo: '33536',
        cmdType: 'normallns',
        serverFlagId: '0',
        requestId: expect.stringMatching(/^[1-9]\d*$/),
        platform: 'web',
        language: 'en',
        token: 'hub-token',
        offlineFlag: 'false',
        timeOut: '30',
        sync: 'true',
      },
    ]);
    await sendCommand(text, { timeoutMs: 5_000, url: `${url}/` });
    expect(path).toBe('POST /api/device/sendInstruct');
    expect(forms[1]).toMatchObject({ timeOut: '5' });
    expect(forms[1]?.['requestId']).not.toBe(forms[0]?.['requestId']);
  });

  it.each<[DeviceCommand, number, unknown]>([
    [{ kind: 'wakeUp' }, 128, 'STATUS#'],
    [{ kind: 'terminalControl', command: 4, parameters: null }, 33_029, { command: 4, parameters: '' }],
    [
      {
        kind: 'setParameters',
        parameters: [
          { id: 1, valueHex: '0000001e' },
          { id: 0x13, valueHex: Buffer.from('h.example').toString('hex') },
          { id: 0xf001, valueHex: 'abcd' },
        ],
      },
      33_027,
      { '1': '30', '19': 'h.example', '61441': 'abcd' },
    ],
    [
      { kind: 'startLive', server: 'm.example', tcpPort: 7078, udpPort: 0, channel: 2, dataType: 0, streamType: 1 },
      37_121,
      { channel: 2, dataType: 0, codeStreamType: 1, videoIP: 'm.example', videoTCPPort: '7078', videoUDPPort: '0' },
    ],
    [
      { kind: 'controlLive', channel: 2, control: 0, closeType: 1, streamType: 0 },
      37_122,
      { channel: 2, cmd: 0, dataType: 1, codeStreamType: 0 },
    ],
    [
      { kind: 'startPlayback', server: 'm.example', tcpPort: 7079, udpPort: 0, playbackMode: 1, speed: 2, ...clip },
      37_377,
      expect.objectContaining({
        serverAddress: 'm.example',
        tcpPort: 7079,
        beginTime: '260801100000',
        codeType: 1,
        playMethod: 1,
        forwardRewind: 2,
      }),
    ],
    [
      { kind: 'controlPlayback', channel: 1, control: 5, speed: 0, seekTime: '260801103000' },
      37_378,
      { channel: 1, playCtrl: 5, forwardRewind: 0, beginTime: '260801103000' },
    ],
    [
      {
        kind: 'requestUpload',
        server: 'ftp.example',
        port: 21,
        username: 'u',
        password: 'p',
        path: '/x',
        alarmFlags: '3',
        conditions: 7,
        ...clip,
      },
      37_382,
      expect.objectContaining({ serverAddress: 'ftp.example', port: 21, userName: 'u', alarmFlag: 3, resourceType: 0 }),
    ],
  ])('encodes %j in the format of the hub', async (command, proNo, content) => {
    expect(await sendCommand(command)).toMatchObject({
      kind: 'answered',
      answer: { commandMessageId: proNo, result: 0 },
    });
    const [form] = forms;
    expect(form?.['proNo']).toBe(String(proNo));
    const commandContent = form?.['cmdContent'] ?? '';
    expect(typeof content === 'string' ? commandContent : JSON.parse(commandContent)).toEqual(content);
  });

  it.each<DeviceCommand>([{ kind: 'queryAttributes' }, { kind: 'controlUpload', uploadSerialNo: 1, control: 0 }])(
    'is not sent for %j, which the channel does not support',
    async (command) => {
      expect(await sendCommand(command)).toMatchObject({ kind: 'refused' });
      expect(forms).toEqual([]);
    },
  );
});

describe('response of a hub', () => {
  it.each<[string, unknown, object]>([
    ['success', { code: 0, msg: 'success', data: null }, { kind: 'answered' }],
    ['a code in digits', { code: '0' }, { kind: 'answered' }],
    ['offline', { code: 300, msg: 'Device not online', data: null }, { kind: 'notConnected' }],
    ['no response in time', { code: 301 }, { kind: 'timedOut' }],
    ['refused', { code: 302, msg: 'Device busy' }, unreadable('code 302 (Device busy)')],
    ['an invalid token', { code: 1004, msg: 'Token' }, unreadable('code 1004')],
    ['another code', { code: -1 }, unreadable('code -1')],
    [
      'success, queued until the device connects',
      { code: 0, data: { _code: '300', _msg: 'Device not online' } },
      { kind: 'notConnected' },
    ],
    ['success without a route to the device', { code: 0, data: { _code: '301' } }, { kind: 'notConnected' }],
    ['success, device timed out', { code: 0, data: { _code: '600' } }, { kind: 'timedOut' }],
    ['success, device busy', { code: 0, data: { _code: '302' } }, unreadable('code 302')],
    ['no object', '[]', unreadable('an invalid response')],
    ['no code', {}, unreadable('an invalid response')],
    ['a code that is not a number', { code: 'zero' }, unreadable('an invalid response')],
    ['garbage', '<html>', unreadable('an invalid response')],
    ['nothing', '', unreadable('an invalid response')],
  ])('ends the command for %s', async (_case, body, outcome) => {
    respond = says(body);
    expect(await sendCommand()).toEqual(expect.objectContaining(outcome));
  });

  it.each<[number, unknown, object]>([
    [401, { code: 1004, msg: 'token' }, unreadable('code 1004')],
    [404, 'nothing here', unreadable('returned status 404')],
    [500, { code: 0 }, unreadable('returned status 500')],
    [504, 'late', { kind: 'timedOut' }],
    [302, '', unreadable('returned status 302')],
  ])('ends the command for status %i %j', async (status, body, outcome) => {
    respond = says(body, status);
    expect(await sendCommand()).toEqual(expect.objectContaining(outcome));
  });

  it('returns the recordings if the hub sends them in the format of the Device API', async () => {
    const command: DeviceCommand = { kind: 'listRecordings', alarmFlags: '0', ...clip };
    const resource = {
      logical_channel_no: 1,
      playback_start_time: '2026-08-01T10:00:00+08:00',
      playback_end_time: '2026-08-01T10:05:00+08:00',
      alarm: 0,
      resource_type: 0,
      stream_type: 1,
      memory_type: 1,
      file_size: 1000,
    };
    respond = says({ code: 0, data: { resources: [resource] } });
    const outcome = await sendCommand(command);
    const item = { channel: 1, alarmFlags: 0n, mediaType: 0, streamType: 1, storageType: 1, fileSize: 1000 };
    const times = { startTime: '2026-08-01T10:00:00', endTime: '2026-08-01T10:05:00' };
    const body = encodeBody(resourceList, { replySerial: 0, total: 1, items: [{ ...item, ...times }] }, '2019');
    expect(outcome).toMatchObject({
      answer: { result: null, message: { id: 0x1205, edition: '2019', bodyBase64: body.toString('base64') } },
    });
    for (const data of [
      null,
      {},
      { resources: 'all' },
      { resources: [{ ...resource, file_size: -1 }] },
      { resources: [1] },
    ]) {
      respond = says({ code: 0, data });
      expect([data, await sendCommand(command)]).toEqual([data, unreadable('returned no list')]);
    }
  });

  it('is read up to a size limit', async () => {
    let onCut: (() => void) | undefined;
    const cut = new Promise<void>((resolve) => {
      onCut = resolve;
    });
    respond = (_form, response) => {
      response.on('close', () => onCut?.());
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    };
    expect(await sendCommand()).toEqual(unreadable('more than'));
    // Otherwise the server would write forever.
    await cut;
  });

  it('times out after the wait of the caller', async () => {
    respond = () => undefined;
    expect(await sendCommand(text, { timeoutMs: 200 })).toEqual({ kind: 'timedOut' });
    respond = (_form, response) => void response.write('{"code":');
    expect(await sendCommand(text, { timeoutMs: 200 })).toEqual({ kind: 'timedOut' });
  });
});

describe('PartnerHubs', () => {
  it('stops sending to a failing hub for a while', async () => {
    respond = says('', 500);
    for (let no = 0; no < 5; no += 1) expect(await sendCommand()).toEqual(unreadable('returned status 500'));
    expect(await sendCommand()).toEqual(unreadable('suspended'));
    expect(forms).toHaveLength(5);
    // Each server has its own circuit breaker.
    expect(await sendCommand(text, { url: 'http://127.0.0.1:9' })).toEqual(unreadable('must have the port'));
    expect(await sendCommand(text, { url: `${url}/other` })).toEqual(unreadable('returned status 500'));
  });

  it('does not open the circuit breaker for errors of devices', async () => {
    for (const body of [{ code: 300 }, { code: 301 }, { code: 302 }, { code: 1001 }]) {
      respond = says(body);
      for (let no = 0; no < 3; no += 1) await sendCommand();
    }
    respond = says({ code: 0 });
    expect(await sendCommand()).toMatchObject({ kind: 'answered' });
    expect(forms).toHaveLength(13);
  });

  it('returns an unreadable outcome if the connection is refused', async () => {
    const closed = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Promise((resolve) => server.close(resolve));
    expect(await sendCommand(text, { url: closed })).toEqual(unreadable('could not reach'));
  });

  it('connects only to public addresses, whatever the name resolves to when it is dialled', async () => {
    const strict = new PartnerClient({ PARTNER_COMMAND_ALLOW_HTTP: true, PARTNER_COMMAND_ALLOWED_CIDRS: '' });
    hubs = strict;
    expect(await sendCommand()).toEqual(unreadable('public addresses'));
    for (const blocked of [
      'https://169.254.169.254',
      'https://[::1]:8443',
      'https://10.0.0.1',
      'https://localhost:8443',
    ])
      expect(await sendCommand(text, { url: blocked })).toEqual(unreadable('public addresses'));
    const plain = new PartnerClient({
      PARTNER_COMMAND_ALLOW_HTTP: false,
      PARTNER_COMMAND_ALLOWED_CIDRS: '127.0.0.0/8',
    });
    hubs = plain;
    expect(await sendCommand()).toEqual(unreadable('https'));
    expect(forms).toEqual([]);
  });

  it('connects to the address that was checked', async () => {
    let looks = 0;
    const resolve = async () => {
      looks += 1;
      return [{ address: '127.0.0.1', family: 4 as const }];
    };
    hubs = new PartnerClient(settings, new SsrfGuard({ allowHttp: true, allowedCidrs: ['127.0.0.0/8'], resolve }));
    const named = url.replace('127.0.0.1', 'hub.invalid');
    expect(await sendCommand(text, { url: named })).toMatchObject({ kind: 'answered' });
    expect(looks).toBe(1);
  });
});
