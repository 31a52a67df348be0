// A sample receiver: node dist/examples/express.js, with WEBHOOK_SECRETS, TLS_CERT_FILE, TLS_KEY_FILE and PORT in the
// environment.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { pathToFileURL } from 'node:url';
import express, { type Express } from 'express';
import { MemoryDedupeStore, receiveWebhook, type WebhookEnvelope } from '../index.ts';

/** Handles a notification. */
interface ReceiverOptions {
  readonly secrets: readonly string[];
  readonly onNotification: (envelope: WebhookEnvelope) => Promise<void> | void;
  readonly onError: (error: unknown) => void;
}

/** Returns an Express app that receives webhooks on any path. */
export function createReceiver({ secrets, onNotification, onError }: ReceiverOptions): Express {
  const store = new MemoryDedupeStore();
  const app = express();
  // The raw bytes: the signature covers them, and parsing and writing JSON again would change them.
  app.use(express.raw({ type: () => true, limit: '1mb' }));
  app.post('/{*path}', async (request, response) => {
    const body: Uint8Array = Buffer.isBuffer(request.body) ? request.body : new Uint8Array();
    const result = await receiveWebhook({ headers: request.headers, body }, { secrets, store });
    if (result.kind === 'refused') {
      response.status(result.status).json({ error: result.reason });
      return;
    }
    // Responds first and works afterwards, because the sender does not wait. Data that must survive a crash belongs in
    // a queue before the response.
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
  server.once('listening', () => process.stdout.write('receiving webhooks\n'));
}
