import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createTone, joinSamples } from '@fleet/terminal-simulator';
import { WebSocket } from 'ws';

/** Samples of 20 ms. */
const messageSamples = 160;
const messageMs = 20;

/** A websocket to a driver: speaks a tone and records what it receives. */
export class Talker {
  /** Received parts, with the time of their arrival in milliseconds since 1970. */
  readonly received: { readonly pcm: Int16Array; readonly atMs: number }[] = [];
  /** Close code; null while it is open. */
  closeCode: number | null = null;
  readonly websocket: WebSocket;
  readonly #timer: NodeJS.Timeout;

  private constructor(websocket: WebSocket, toneHz: number) {
    this.websocket = websocket;
    websocket.on('message', (data: Buffer) => {
      const pcm = Int16Array.from({ length: data.length / 2 }, (_unused, index) => data.readInt16LE(index * 2));
      this.received.push({ pcm, atMs: performance.timeOrigin + performance.now() });
    });
    websocket.on('close', (code) => {
      this.closeCode = code;
      clearInterval(this.#timer);
    });
    let sentSamples = 0;
    this.#timer = setInterval(() => {
      const pcm = createTone(toneHz, { samples: messageSamples, fromSample: sentSamples });
      sentSamples += pcm.length;
      websocket.send(Buffer.from(pcm.buffer));
    }, messageMs);
  }

  /** Resolves after the handshake; throws the status and the body of a refusal. */
  static async open(
    url: string,
    { toneHz = 900, headers = {} }: { toneHz?: number; headers?: Record<string, string> } = {},
  ): Promise<Talker> {
    const websocket = new WebSocket(url, { headers });
    const refusal = new Promise<never>((_resolve, reject) => {
      websocket.once('unexpected-response', (_request, response: IncomingMessage) => {
        readText(response).then((text) => reject(new Error(`${response.statusCode} ${text}`)), reject);
      });
    });
    await Promise.race([once(websocket, 'open'), refusal]);
    return new Talker(websocket, toneHz);
  }

  get samples(): Int16Array {
    return joinSamples(this.received.map(({ pcm }) => pcm));
  }

  close(): void {
    this.websocket.close();
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  return text;
}

/** Returns the status of a refused handshake; 101 if it was accepted. */
export async function findTalkStatus(url: string, headers: Record<string, string> = {}): Promise<number> {
  try {
    const talker = await Talker.open(url, { headers });
    talker.close();
    return 101;
  } catch (error) {
    return Number(/^\d{3}/.exec((error as Error).message)?.[0]);
  }
}
