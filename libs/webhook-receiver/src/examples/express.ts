// A receiver to begin with: node dist/examples/express.js, with WEBHOOK_SECRETS, TLS_CERT_FILE, TLS_KEY_FILE and PORT in the environment.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { pathToFileURL } from 'node:url';
import express, { type Express } from 'express';
import { MemoryDedupeStore, receiveWebhook, type WebhookEnvelope } from '../index.ts';

/** What the example does with a notification. */
export interface ReceiverOptions {
  readonly secrets: readonly string[];
  readonly onNotification: (envelope: WebhookEnvelope) => Promise<void> | void;
  readonly onError: (error: unknown) => void;
}

/** An Express app that takes webhooks on any path. */
export function createReceiver({ secrets, onNotification, onError }: ReceiverOptions): Express {
  const store = new MemoryDedupeStore();
  const app = express();
  // As it came: the signature is over the bytes, and reading and writing JSON again would change them.
  app.use(express.raw({ type: () => true, limit: '1mb' }));
  app.post('/{*path}', async (request, response) => {
    const body: Uint8Array = Buffer.isBuffer(request.body) ? request.body : new Uint8Array();
    const result = await receiveWebhook({ headers: request.headers, body }, { secrets, store });
    if (result.kind === 'refused') {
      response.status(result.status).json({ error: result.reason });
      return;
    }
    // Answered first and worked at behind that: the sender does not wait for our work. What must not be lost in a crash belongs into a queue before the answer.
    response.status(200).json({ kind: result.kind });
    if (result.kind === 'accepted') void Promise.resolve(result.envelope).then(onNotification).catch(onError);
  });
  return app;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const readSetting = (name: string): string => {
    const value = process.env[name];
    if (value === undefined || value === '') throw new Error(`${name} is not set`);
    return value;
  };
  const app = createReceiver({
    secrets: readSetting('WEBHOOK_SECRETS')
      .split(',')
      .filter((secret) => secret !== ''),
    onNotification: ({ payload: { notification } }) => {
      process.stdout.write(`${notification.notification_type} of ${notification.imei}: ${notification.title}\n`);
    },
    onError: (error) => process.stderr.write(`${String(error)}\n`),
  });
  const tls = { cert: readFileSync(readSetting('TLS_CERT_FILE')), key: readFileSync(readSetting('TLS_KEY_FILE')) };
  const server = createServer(tls, app).listen(Number(process.env['PORT'] ?? '8443'));
  server.once('listening', () => process.stdout.write('taking webhooks\n'));
}
