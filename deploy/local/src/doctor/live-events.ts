import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';

interface LiveEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const pollMs = 100;

/** Events of one vehicle from the websocket. */
export class LiveEvents {
  readonly #socket: WebSocket;
  readonly #received: LiveEvent[] = [];
  readonly #vehicleId: number;
  #error: Error | undefined;

  private constructor(socket: WebSocket, vehicleId: number) {
    this.#socket = socket;
    this.#vehicleId = vehicleId;
    socket.on('message', (data: Buffer) => this.#received.push(JSON.parse(data.toString()) as LiveEvent));
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('close', (code) => {
      this.#error ??= new Error(`The websocket was closed with ${code}.`);
    });
  }

  /** Connects. Throws if the connection is refused. */
  static async open(url: string, vehicleId: number): Promise<LiveEvents> {
    const socket = new WebSocket(url);
    const events = new LiveEvents(socket, vehicleId);
    await once(socket, 'open');
    return events;
  }

  /** Waits for the first event of a type. Rejects if the connection ends before. */
  async next(type: string, signal: AbortSignal): Promise<LiveEvent> {
    for (;;) {
      const isRight = (event: LiveEvent): boolean =>
        event.type === type && (type === 'hello' || this.#vehicleId === event.data['vehicle_id']);
      const found = this.#received.find(isRight);
      if (found !== undefined) return found;
      if (this.#error !== undefined) throw this.#error;
      await delay(pollMs, undefined, { signal });
    }
  }

  close(): void {
    this.#socket.terminate();
  }
}
