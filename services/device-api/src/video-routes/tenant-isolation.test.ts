import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createVideoDocument } from '../api-document.ts';
import { type FakeMediaPod, respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { allRights, FakePlatform } from '../testing/fake-platform.ts';
import { createOutcome, randomImei } from '../testing/harness.ts';
import { UploadHarness } from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}
interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly example?: unknown;
  readonly schema: Schema;
}
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, unknown>>;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
const document = createVideoDocument() as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** Every operation about a device, from the document. */
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  path.includes('{imei}')
    ? Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
    : [],
);

/** Times in order: both have the same example. */
const bodyFields: Readonly<Record<string, unknown>> = { end_time: '2026-08-01T11:00:00+08:00' };

function sample(schema: Schema): unknown {
  const { $ref, type, enum: values, examples, default: preset, properties = {}, required = [] } = schema;
  if ($ref !== undefined) return sample(document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  if (type === 'object')
    return Object.fromEntries(required.map((name) => [name, bodyFields[name] ?? sample(properties[name] ?? {})]));
  return examples?.[0] ?? preset ?? values?.[0];
}

/** Returns a valid request of an operation about a device. */
function sampleRequest({ method, path, operation }: (typeof operations)[number], imei: string) {
  const filled = operation.parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, { name, example }) => text.replace(`{${name}}`, name === 'imei' ? imei : String(example)), path);
  const schema = operation.requestBody?.content['application/json']?.schema;
  return { path: filled, init: { method, ...(schema === undefined ? {} : { body: JSON.stringify(sample(schema)) }) } };
}

const secret = 'a-secret-for-tests-only';
let uploads: UploadHarness;
let platform: FakePlatform;
let pod: FakeMediaPod;
let base: string;
let theirImei: string;
beforeAll(async () => {
  uploads = await UploadHarness.open({ platform: false });
  platform = await FakePlatform.start(uploads.harness.bus);
  pod = await startFakeMediaPod((request, response) => {
    if (request.url?.includes('.m3u8') === true) response.end('#EXTM3U');
    else respondWithStream()(request, response);
  });
  const service = await uploads.startService({ DEVICE_API_AUTH: 'key', STREAM_TOKEN_SECRET: secret });
  base = service.video.base;
  theirImei = await connectStreamingDevice(8);
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await uploads.close();
});

/** Connects a device of an account that streams live and recorded video on channel 1. */
async function connectStreamingDevice(accountId: number): Promise<string> {
  const { harness } = uploads;
  const imei = await harness.connectDevice(() => createOutcome(0x9101));
  platform.moveDevice(imei, accountId);
  for (const kind of ['live', 'history'] as const) await harness.connectStream(imei, 1, pod.url, 'test-media', kind);
  return imei;
}

async function send(operation: (typeof operations)[number], imei: string, headers: Record<string, string>, query = '') {
  const { path, init } = sampleRequest(operation, imei);
  const response = await fetch(`${base}${path}${query}`, { ...init, headers });
  // Only errors are compared; a stream does not end.
  if (response.status >= 400) return { status: response.status, text: await response.text() };
  await response.body?.cancel();
  return { status: response.status, text: '' };
}

describe('the operations of the document', () => {
  it('are those about a device', () => {
    expect(operations.length).toBeGreaterThan(8);
  });

  describe.each(operations.map((operation) => [operation.operation.operationId, operation] as const))(
    '%s',
    (_id, operation) => {
      it('runs for the device of the own account', async () => {
        const imei = await connectStreamingDevice(7);
        const { headers, rights } = platform.newUser();
        rights.set(imei, allRights);
        // A websocket route refuses a request without a handshake, after it has admitted the caller.
        const refusals = '101' in operation.operation.responses ? [401, 403, 404] : [400, 401, 403, 404];
        for (const own of [headers, { 'x-api-key': platform.newKey() }])
          expect(refusals).not.toContain((await send(operation, imei, own)).status);
      });

      it('responds to the device of another account like to a missing one', async () => {
        const commands = uploads.harness.findCommands(theirImei).length;
        for (const headers of [platform.newUser().headers, { 'x-api-key': platform.newKey() }]) {
          const theirs = await send(operation, theirImei, headers);
          const missing = randomImei();
          platform.moveDevice(missing, 8);
          const { status, text } = await send(operation, missing, headers);
          expect([theirs.status, theirs.text]).toEqual([404, text.replaceAll(missing, theirImei)]);
          expect(status).toBe(404);
        }
        expect(uploads.harness.findCommands(theirImei)).toHaveLength(commands);
      });

      it('is 401 without a credential', async () => {
        expect((await send(operation, theirImei, {})).status).toBe(401);
      });
    },
  );

  const playing = operations.filter(({ operation }) => operation.parameters.some(({ name }) => name === 'token'));
  it.each(playing.map((operation) => [operation.operation.operationId, operation] as const))(
    '%s is 403 with a token for a device of the own account',
    async (_id, operation) => {
      const { caller, rights } = platform.newUser();
      const imei = randomImei();
      rights.set(imei, allRights);
      const tokens = new StreamTokens({ secrets: secret, lifetimeSeconds: 600 });
      const { token } = tokens.issue({ imei, channel: 1, kind: 'live', caller });
      expect((await send(operation, theirImei, {}, `?token=${token}`)).status).toBe(403);
    },
  );
});
