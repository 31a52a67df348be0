import { connect, type Socket } from 'node:net';
import { openBus, pingService } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client, FTPError } from 'basic-ftp';
import { ServerProcess, testEnv } from '../../../libs/service-kit/src/testing/server-process.ts';
import { loadConfig } from './config.ts';
import { create, type UploadFtp } from './service.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

let nats: ServerProcess;
const natsUrl = (): string => `nats://127.0.0.1:${nats.port}`;
const silent = createLogger('upload-ftp-test', 'silent');
const config = () =>
  loadConfig({
    NATS_URL: natsUrl(),
    MONGODB_URL: testEnv('MONGODB_URL'),
    HTTP_PORT: '0',
    FTP_PORT: '0',
    POD_ID: 'upload-ftp-test',
  });

/** A control connection as raw bytes: what was said so far, and waiting for a text in it. */
class RawControl {
  readonly socket: Socket;
  said = '';
  isClosed = false;
  #changed: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (bytes) => {
      this.said += bytes.toString();
      this.#changed();
    });
    this.socket.on('close', () => {
      this.isClosed = true;
      this.#changed();
    });
    this.socket.on('error', () => this.#changed());
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => (this.#changed = resolve));
  }

  async hears(text: string): Promise<void> {
    await this.until(() => this.said.includes(text) || this.isClosed);
    expect(this.said).toContain(text);
  }

  /** Resolves once the bytes have left, so that the next write is a segment of its own. */
  send(text: string): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => setImmediate(resolve)));
  }
}

describe('upload-ftp', () => {
  const listenersBefore = process.listenerCount('SIGTERM');
  let service: UploadFtp;

  beforeAll(async () => {
    nats = await (await ServerProcess.nats()).start();
    service = await create(config(), { log: silent, loginLimitMs: 1_500 });
  });
  afterAll(async () => {
    await service.stop();
    await nats.remove();
  });

  const get = (path: string) => fetch(`http://127.0.0.1:${service.httpPort}${path}`);

  it('takes the signal handlers of ftp-srv away, which would end the process', () => {
    expect(process.listenerCount('SIGTERM')).toBe(listenersBefore);
    expect(process.listeners('SIGTERM').some((listener) => listener.toString().includes('debounced'))).toBe(false);
  });

  it('greets a client and refuses every login with 530', async () => {
    const client = new Client(5_000);
    try {
      const greeting = await client.connect('127.0.0.1', service.ftpPort);
      expect(greeting.code).toBe(220);
      const refusal = await client.login('camera', 'secret').catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(FTPError);
      expect((refusal as FTPError).code).toBe(530);
    } finally {
      client.close();
    }
  });

  it('answers a command that arrives in several segments once it is whole', async () => {
    const control = new RawControl(service.ftpPort);
    await control.hears('220 ');
    for (const part of ['US', 'ER cam', 'era\r', '\nPA', 'SS secret\nNO', 'OP\r\n']) await control.send(part);
    await control.hears('200 ');
    expect(control.said.split('\r\n').map((line) => line.slice(0, 3))).toEqual(['220', '331', '530', '200', '']);
    control.socket.destroy();
  });

  it('lets nothing be stored, read or listed without a login, and knows no command beside the listed ones', async () => {
    const control = new RawControl(service.ftpPort);
    await control.send('STOR a.mp4\r\nLIST\r\nRETR a.mp4\r\nSITE HELP\r\nPASV\r\nNOOP\r\n');
    await control.hears('200 ');
    const codes = control.said.split('\r\n').map((line) => line.slice(0, 3));
    expect(codes).toEqual(['220', '530', '530', '502', '502', '530', '200', '']);
    control.socket.destroy();
  });

  it('closes after the third refused login, after an endless line, and without any login', async () => {
    const guesser = new RawControl(service.ftpPort);
    await guesser.send('USER a\r\nPASS 1\r\nPASS 2\r\nPASS 3\r\n');
    const talker = new RawControl(service.ftpPort);
    await talker.send('A'.repeat(20_000));
    const sleeper = new RawControl(service.ftpPort);
    for (const control of [guesser, talker, sleeper]) await control.until(() => control.isClosed);
    expect(guesser.said.match(/^530 /gm)).toHaveLength(3);
    expect(talker.said).toContain('421 ');
    expect(sleeper.said).toContain('421 No login in time');
  });

  it('answers health, metrics and unknown paths', async () => {
    expect(await (await get('/livez')).json()).toEqual({ live: true });
    expect(await (await get('/readyz')).json()).toEqual({
      ready: true,
      draining: false,
      checks: { message_broker: true, database: true, upload_server: true },
    });
    expect(await (await get('/metrics')).text()).toContain('upload_ftp_logins_refused_total');
    expect((await get('/nothing')).status).toBe(404);
  });

  it('answers a ping over the bus while it listens, and not after its stop', async () => {
    const bus = await openBus(natsUrl(), { name: 'upload-ftp-test-asker', log: silent });
    try {
      expect(await pingService(bus, 'upload-ftp', 2_000)).toBe(true);
      const other = await create(config(), { log: silent });
      await other.stop();
      const dial = new RawControl(other.ftpPort);
      await dial.until(() => dial.isClosed);
      expect(dial.said).toBe('');
    } finally {
      await bus.close();
    }
  });
});

describe('settings of upload-ftp', () => {
  it('refuses a passive range that is upside down', () => {
    expect(() => loadConfig({ FTP_PASV_MIN: '400', FTP_PASV_MAX: '300' })).toThrow(/FTP_PASV_MIN is above/);
  });
});
