import { describe, expect, it } from '@jest/globals';
import { helpText } from './cli-help.ts';
import { createDemoPhones, parseCliOptions } from './cli-options.ts';
import { optionDefinitions, parseDurationMs } from './cli-values.ts';

describe('command line', () => {
  it('fleet: defaults to the demo vehicles, of which the third is a 2019 terminal', () => {
    expect(parseCliOptions(['fleet', '--port', '7000', '--report-file', 'r.json'])).toMatchObject({
      command: 'fleet',
      host: '127.0.0.1',
      port: 7000,
      channels: 2,
      phones: ['013800138001', '013800138002', '00000000013800138003'],
      reportFile: 'r.json',
      video: 'h264',
      audio: 'g711a',
    });
  });

  it('fleet: accepts terminal numbers', () => {
    const options = parseCliOptions(['fleet', '--phones', '013900000001,00000000013900000002', '--channels', '4']);
    expect(options).toMatchObject({ phones: ['013900000001', '00000000013900000002'], channels: 4 });
  });

  it('terminal: accepts a behaviour', () => {
    const slow = ['terminal', '--phone', '013800138009', '--behaviour', 'slow', '--delay', '20s'];
    expect(parseCliOptions(slow)).toMatchObject({
      phone: '013800138009',
      behaviour: { kind: 'slow', delayMs: 20_000 },
    });
    const broken = ['terminal', '--phone', '013800138009', '--behaviour', 'cutBody', '--edition', '2011'];
    expect(parseCliOptions(broken)).toMatchObject({ edition: '2011', behaviour: { kind: 'garbage', form: 'cutBody' } });
    const asleep = ['terminal', '--phone', '013800138009', '--behaviour', 'sleeping', '--wake-after', '5'];
    expect(parseCliOptions(asleep)).toMatchObject({ behaviour: { kind: 'sleeping', wakeAfterTries: 5 } });
  });

  it('terminal: accepts a delayed wake-up', () => {
    const late = ['terminal', '--phone', '013800138009', '--behaviour', 'sleeping', '--wake-time', '20s', '--catch-up'];
    const behaviour = { kind: 'sleeping', wakeAfterMs: 20_000, catchesUp: true };
    expect(parseCliOptions(late)).toMatchObject({ behaviour });
  });

  it('terminal: accepts alarms and attachment options', () => {
    const given =
      '--alarm dsm:2 --alarm-every 5s --attachment-speed 50000 --attachment-lost 0,2 --attachment-order reversed ' +
      '--attachment-resume fromZero --attachment-break reset@1000x2';
    expect(parseCliOptions(['terminal', '--phone', '013800138009', ...given.split(' ')])).toMatchObject({
      alarm: { kind: 'dsm', type: 2, everyMs: 5_000 },
      terminalOptions: {
        attachmentBytesPerSecond: 50_000,
        attachmentLostChunks: [0, 2],
        attachmentOrder: 'reversed',
        attachmentResume: 'fromZero',
        attachmentFaults: [{ how: 'reset', afterBytes: 1000, times: 2 }],
      },
    });
    for (const invalidArgs of [
      '--alarm=dsm',
      '--alarm=tpms:1',
      '--alarm=bsd:256',
      '--attachment-lost=x',
      '--attachment-break=x@1',
    ])
      expect(() => parseCliOptions(['terminal', '--phone', '013800138009', invalidArgs])).toThrow(/is not /);
  });

  it('terminal: accepts upload and list options', () => {
    const given =
      '--upload-speed 50000 --upload-resume restart --upload-retries 3 --upload-retry 2s --upload-files perRecording ' +
      '--upload-directory 2026/ch1 --upload-mode port --upload-tls --upload-pause hold --upload-break reset@1000 ' +
      '--upload-break finish@5000x3 --upload-notice never --upload-no-quit --list-chunk 40';
    expect(parseCliOptions(['terminal', '--phone', '013800138009', ...given.split(' ')])).toMatchObject({
      terminalOptions: {
        uploadBytesPerSecond: 50_000,
        uploadResume: 'restart',
        uploadRetries: 3,
        uploadRetryMs: 2000,
        uploadFiles: 'perRecording',
        uploadDirectory: '2026/ch1',
        uploadDataMode: 'port',
        uploadTls: true,
        uploadPause: 'hold',
        uploadFaults: [
          { how: 'reset', afterBytes: 1000, times: 1 },
          { how: 'finish', afterBytes: 5000, times: 3 },
        ],
        uploadNotice: 'never',
        uploadQuits: false,
        listItemsPerMessage: 40,
      },
    });
  });

  it('names every option in the help', () => {
    const named = new Set(helpText.match(/--[a-z-]+/g));
    for (const name of Object.keys(optionDefinitions)) expect(named).toContain(`--${name}`);
  });

  it('load: parses its options', () => {
    expect(parseCliOptions(['load', '--terminals', '5000', '--interval', '30s'])).toEqual({
      command: 'load',
      host: '127.0.0.1',
      port: 7808,
      terminals: 5000,
      intervalMs: 30_000,
      edition: '2013',
      firstPhone: '019000000000',
      connectRate: 500,
    });
  });

  it.each([[['--help']], [['help']], [['fleet', '-h']]])('%j shows the help', (args) => {
    expect(parseCliOptions(args)).toEqual({ command: 'help' });
  });

  it.each<[string[], RegExp]>([
    [[], /missing command/],
    [['dance'], /unknown command "dance"/],
    [['fleet', 'now'], /unexpected "now"/],
    [['fleet', '--port', 'x'], /--port "x" is not an integer from 1 to 65535/],
    [['fleet', '--port', '70000'], /--port/],
    [['fleet', '--nonsense'], /nonsense/],
    [['fleet', '--phones', '123'], /"123" must have 12 or 20 digits/],
    [['terminal'], /--phone is missing/],
    [['terminal', '--phone', '013800138009', '--edition', '2020'], /--edition "2020" is not one of 2011, 2013, 2019/],
    [['terminal', '--phone', '013800138009', '--behaviour', 'rude'], /--behaviour "rude"/],
    [['fleet', '--upload-break', 'reset'], /--upload-break "reset" is not a fault such as reset@100000/],
    [['fleet', '--upload-speed', '0'], /--upload-speed "0" is not an integer of at least 1/],
    [['fleet', '--upload-notice', 'maybe'], /--upload-notice "maybe" is not one of truth, success/],
    [['load', '--interval', '30'], /--interval "30" is not a duration/],
  ])('rejects %j with a message that names the fault', (args, message) => {
    expect(() => parseCliOptions(args)).toThrow(message);
  });

  it('shows one valid example of each command in the help', () => {
    const examples = helpText.split('\n').filter((line) => line.includes('dist/cli.js'));
    expect(examples.map((line) => parseCliOptions(line.trim().split(/ +/).slice(2)).command)).toEqual([
      'fleet',
      'terminal',
      'load',
    ]);
  });
});

describe('durations and numbers', () => {
  it('parses milliseconds, seconds and minutes', () => {
    expect([parseDurationMs('500ms', 'x'), parseDurationMs('1.5s', 'x'), parseDurationMs('2m', 'x')]).toEqual([
      500, 1500, 120_000,
    ]);
  });

  it('creates consecutive demo numbers', () => {
    const phones = createDemoPhones(7);
    expect(phones[6]).toBe('013800138007');
    expect(phones[5]).toBe('00000000013800138006');
    expect(new Set(phones).size).toBe(7);
  });
});
