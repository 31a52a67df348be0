import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { waitFor } from '@fleet/testing';
import { freePort } from './free-port.ts';
import { type ApiResponse, getJson, type ProductHarness } from './harness.ts';
import { readProductSecrets } from './product-secrets.ts';

const script = resolve('services/device-api/dist/bundle/main.js');

/** A second device-api on the backends of a running product. */
export class DeviceApiReplica {
  readonly #child: ChildProcess;
  readonly #adminUrl: string;

  /** Address of the Device API. */
  readonly url: string;
  /** Address of the video service. */
  readonly videoUrl: string;

  private constructor(
    child: ChildProcess,
    { url, videoUrl, adminUrl }: { url: string; videoUrl: string; adminUrl: string },
  ) {
    this.#child = child;
    this.url = url;
    this.#adminUrl = adminUrl;
    this.videoUrl = videoUrl;
  }

  static async start(harness: ProductHarness, env: Record<string, string> = {}): Promise<DeviceApiReplica> {
    const { backends, jt1078 } = harness.product.runtime;
    const { mediaSigningSecret, streamTokenSecret } = readProductSecrets(harness);
    const httpPort = await freePort();
    const videoPort = await freePort(httpPort);
    const adminPort = await freePort(httpPort, videoPort);
    const child = spawn(process.execPath, [script], {
      env: {
        ...process.env,
        MEDIA_SIGNING_SECRET: mediaSigningSecret,
        STREAM_TOKEN_SECRET: streamTokenSecret,
        NODE_ENV: 'development',
        HOST: '127.0.0.1',
        HTTP_PORT: String(httpPort),
        VIDEO_HTTP_PORT: String(videoPort),
        ADMIN_PORT: String(adminPort),
        NATS_URL: backends.nats_url,
        REDIS_URL: backends.redis_url,
        MONGODB_URL: backends.mongodb_url,
        MEDIA_LIVE_PORT: String(jt1078.live_port),
        MEDIA_HISTORY_PORT: String(jt1078.history_port),
        MEDIA_TALK_PORT: String(jt1078.talk_port),
        RATE_LIMIT_READS_PER_SECOND: '100000',
        RATE_LIMIT_READS_BURST: '100000',
        RATE_LIMIT_COMMANDS_PER_MINUTE: '100000',
        RATE_LIMIT_COMMANDS_BURST: '100000',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    // A pipe that is full would block the process.
    child.stdout.resume();
    // A test run that ends early leaves no process running.
    process.once('exit', () => child.kill('SIGKILL'));
    const replica = new DeviceApiReplica(child, {
      url: `http://127.0.0.1:${httpPort}`,
      videoUrl: `http://127.0.0.1:${videoPort}`,
      adminUrl: `http://127.0.0.1:${adminPort}`,
    });
    try {
      await waitFor(() => replica.#isReady(), 'the second device-api', 60_000);
      return replica;
    } catch (error) {
      await replica.stop('SIGKILL');
      throw error;
    }
  }

  get(path: string): Promise<ApiResponse> {
    return getJson(`${this.url}/api/v1${path}`);
  }

  /** Closes the pipe of its standard output, like a log collector that dies. */
  closeOutput(): void {
    this.#child.stdout?.destroy();
  }

  /** Sends SIGTERM, or SIGKILL on request, and resolves when the process has exited. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise<void>((done) => {
      this.#child.once('exit', () => done());
    });
    this.#child.kill(signal);
    await ended;
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.#adminUrl}/readyz`)).status === 200;
    } catch (error) {
      // It does not listen yet. System errors are not instances of the Error class of the test realm.
      if (typeof error === 'object' && error !== null && 'name' in error && error.name === 'TypeError') return false;
      throw error;
    }
  }
}
