import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnvelope, type WebhookEnvelope } from '@fleet/webhook-receiver';

/** A received delivery. */
export interface Delivered {
  /** `webhook-id`, which is the same for every attempt. */
  readonly id: string;
  readonly atMs: number;
  readonly secret: string | undefined;
  /** Names of the headers. */
  readonly headerNames: readonly string[];
  readonly envelope: WebhookEnvelope;
}

/**
 * A webhook receiver with TLS that stores its deliveries. Its certificate has to be in WEBHOOK_CA_FILE, and 127.0.0.0/8
 * in WEBHOOK_ALLOWED_CIDRS.
 */
export class AlarmReceiver {
  readonly delivered: Delivered[] = [];
  /** Status of its responses. */
  status = 200;
  readonly #server: Server;
  readonly #dir: string;

  private constructor(server: Server, dir: string) {
    this.#server = server;
    this.#dir = dir;
  }

  static async start({ cert, key }: { readonly cert: string; readonly key: string }): Promise<AlarmReceiver> {
    const dir = mkdtempSync(join(tmpdir(), 'fleet-receiver-'));
    writeFileSync(join(dir, 'ca.pem'), cert);
    const server = createServer({ cert, key });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const receiver = new AlarmReceiver(server, dir);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { 'webhook-id': id, 'x-webhook-secret': secret } = request.headers;
        const envelope = parseEnvelope(Buffer.concat(chunks));
        const headerNames = Object.keys(request.headers);
        receiver.delivered.push({
          id: String(id),
          secret: secret?.toString(),
          headerNames,
          atMs: Date.now(),
          envelope,
        });
        response.writeHead(receiver.status).end();
      });
    });
    return receiver;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}/alarms?from=fleet`;
  }

  /** Settings that let the product deliver to this receiver. */
  get settings(): Record<string, string> {
    return { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', WEBHOOK_CA_FILE: join(this.#dir, 'ca.pem') };
  }

  /** Ids of the notifications that were delivered at least once. */
  get notificationIds(): Set<number> {
    return new Set(this.delivered.map(({ envelope }) => Number(envelope.payload.notification.id)));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
