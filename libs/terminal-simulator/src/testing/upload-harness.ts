import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileUploadControl, fileUploadRequest } from '@fleet/jt808';
import { createCameraClips } from '../camera-clips.ts';
import { toCameraTime } from '../camera-clock.ts';
import { createRecordings } from '../recordings.ts';
import { SimulatedTerminal } from '../terminal.ts';
import type { TerminalOptions } from '../terminal-options.ts';
import type { UploadFile } from '../uploads/upload-files.ts';
import { FtpSink } from './ftp-sink.ts';
import { TestPlatform } from './test-platform.ts';

const terminalPhone = '013800138001';
const recordingsEnd = new Date('2026-08-01T04:00:00Z');

/** A platform, an FTP server, and a terminal that uploads to the server on the platform's request. */
export class UploadHarness {
  readonly cacheDir: string;
  readonly platform = new TestPlatform();
  readonly ftp = new FtpSink();
  #terminal: SimulatedTerminal | null = null;

  private constructor(cacheDir: string) {
    this.cacheDir = cacheDir;
  }

  static async open(cacheDir: string): Promise<UploadHarness> {
    const harness = new UploadHarness(cacheDir);
    await Promise.all([harness.platform.listen(), harness.ftp.listen()]);
    return harness;
  }

  /** Creates a directory for clips; remove it at the end. */
  static createCache(): Promise<string> {
    return mkdtemp(path.join(os.tmpdir(), 'clips-'));
  }

  static removeCache(cacheDir: string): Promise<void> {
    return rm(cacheDir, { recursive: true });
  }

  get terminal(): SimulatedTerminal {
    if (this.#terminal === null) throw new Error('not started');
    return this.#terminal;
  }

  /** Starts a terminal with three recordings of two seconds and waits until it is online. */
  async start(options: Partial<TerminalOptions> = {}): Promise<void> {
    const spec = { width: 160, height: 120, fps: 10, gop: 5, seconds: 1 };
    this.#terminal = new SimulatedTerminal({
      host: '127.0.0.1',
      port: this.platform.port,
      phone: terminalPhone,
      channels: 1,
      clips: createCameraClips(terminalPhone, { cacheDir: this.cacheDir }, { main: spec }),
      reportIntervalMs: 0,
      uploadRetryMs: 20,
      recordings: createRecordings({ channels: [1], count: 3, seconds: 2, until: recordingsEnd, bitrateKbps: 500 }),
      ...options,
    });
    this.terminal.start();
    await this.terminal.waitUntilOnline();
  }

  async close(): Promise<void> {
    await this.#terminal?.stop();
    await Promise.all([this.platform.close(), this.ftp.close()]);
  }

  /** Sends 0x9206 for the last seconds of the recordings; returns its serial. */
  requestUpload({ password = 'secret', seconds = 4, path: directory = '/upload-1' } = {}): number {
    return this.platform.sendCommand(terminalPhone, fileUploadRequest, {
      server: '127.0.0.1',
      port: this.ftp.port,
      username: 'u1',
      password,
      path: directory,
      channel: 1,
      startTime: toCameraTime(recordingsEnd.getTime() - seconds * 1000),
      endTime: toCameraTime(recordingsEnd.getTime()),
      alarmFlags: 0n,
      mediaType: 0,
      streamType: 0,
      storageType: 0,
      conditions: 7,
    });
  }

  /** Sends 0x9207. */
  sendControl(replySerial: number, how: number): number {
    return this.platform.sendCommand(terminalPhone, fileUploadControl, { replySerial, control: how });
  }

  /** Returns the files expected for an upload of the last seconds. */
  expectedFiles(seconds = 4): Promise<UploadFile[]> {
    return this.terminal.clipFiles({ channel: 1, startTime: toCameraTime(recordingsEnd.getTime() - seconds * 1000) });
  }

  /** Results of all 0x0001. */
  get results(): (number | undefined)[] {
    return this.platform.framesWithId(0x0001).map((frame) => frame.body[4]);
  }

  /** Waits for 0x1206 and returns its result. */
  async waitForNotice(): Promise<number | undefined> {
    return (await this.platform.waitForFrame(0x1206)).body[2];
  }
}
