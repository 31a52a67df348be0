import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { resolve } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { OtlpReceiver, waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { listen } from '../http/admin.ts';
import { createApi } from '../http/api.ts';
import { createApp } from '../http/app.ts';
import { createErrorHandlers } from '../http/error-handlers.ts';
import { AppError } from '../http/errors.ts';
import { defineRoute } from '../http/route.ts';
import { createLogger } from '../runtime/log.ts';
import { activeTrace, runDetached, tracer } from './active-tracer.ts';
import { startTracing, stopTracing } from './start-tracing.ts';
import { isTracingEnabled } from './tracing-settings.ts';

jest.setTimeout(60_000);

const silent = createLogger('test', 'silent');
const timeoutMs = 30_000;
const originalEnv = process.env;

let collector: OtlpReceiver;
beforeEach(async () => {
  collector = await OtlpReceiver.start();
  process.env = { ...originalEnv, ...collector.settings };
});
afterEach(async () => {
  collector.isHanging = false;
  await stopTracing(silent);
  await collector.stop();
  process.env = originalEnv;
});

/** Returns a log whose lines are kept. */
function captureLog() {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  return { lines, log: pino({ level: 'warn' }, stream) };
}

describe('tracing', () => {
  it.each([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'TRUE' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, false],
  ])('with the settings %j is on: %p', (env, expected) => {
    expect(isTracingEnabled(env)).toBe(expected);
  });

  it('does not load the SDK of OpenTelemetry while it is off', () => {
    const entry = resolve(fileURLToPath(import.meta.url), '../../../dist/index.js');
    const program = `
      const { createLogger } = await import(${JSON.stringify(entry)});
      const { startTracing } = await import(${JSON.stringify(resolve(entry, '../tracing/start-tracing.js'))});
      await startTracing('test', createLogger('test', 'silent'), process.env);
      const { createRequire } = await import('node:module');
      const loaded = Object.keys(createRequire(import.meta.url).cache);
      console.log(loaded.length, loaded.filter((path) => /sdk-trace|exporter-trace/.test(path)).length);`;
    const run = (env: Record<string, string>): string =>
      execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
        encoding: 'utf8',
        cwd: resolve(entry, '../..'),
        env: { PATH: process.env['PATH'] ?? '', ...env },
      }).trim();
    expect(run({})).toMatch(/^\d+ 0$/);
    expect(run({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })).not.toMatch(/^\d+ 0$/);
  });

  it('exports a span and its child with the name of the service and the settings of the environment', async () => {
    process.env['OTEL_RESOURCE_ATTRIBUTES'] = 'service.namespace=fleet';
    await startTracing('test-service', silent, process.env);
    const outer = tracer?.startSpan({ kind: 'internal', name: 'outer', attributes: { count: 2 } });
    if (outer === undefined) throw new Error('tracing is off');
    tracer?.runInSpan(outer, () => tracer?.startSpan({ kind: 'client', name: 'inner' }).end());
    await waitFor(() => collector.spans.length === 2, 'both spans', timeoutMs);
    const [inner, parent] = collector.spans;
    expect(inner).toMatchObject({ service: 'test-service', name: 'inner', kind: 'client', traceId: parent?.traceId });
    expect(inner?.parentSpanId).toBe(parent?.spanId);
    expect(parent).toMatchObject({ name: 'outer', parentSpanId: '', attributes: { count: 2 }, isFailed: false });
  });

  it('exports protobuf by default', async () => {
    delete process.env['OTEL_EXPORTER_OTLP_PROTOCOL'];
    await startTracing('test-service', silent, process.env);
    tracer?.startSpan({ kind: 'internal', name: 'binary span' }).end();
    await stopTracing(silent);
    expect(collector.binaryBodies.map((body) => body.includes('binary span'))).toEqual([true]);
  });

  it('marks a failed span with the type of the error, without its message', async () => {
    await startTracing('test-service', silent, process.env);
    const fail = (error: unknown) => async () => {
      throw error;
    };
    const errors = [new AppError('not_found', 'no vehicle 139'), new TypeError('secret'), 'text'];
    for (const error of errors) {
      const span = tracer?.startSpan({ kind: 'internal', name: 'work' });
      if (span !== undefined) await tracer?.runInSpan(span, fail(error)).catch(() => undefined);
    }
    await waitFor(() => collector.spans.length === errors.length, 'the spans', timeoutMs);
    expect(collector.spans.map(({ attributes, isFailed }) => [attributes, isFailed])).toEqual([
      [{ 'error.type': 'not_found' }, true],
      [{ 'error.type': 'TypeError' }, true],
      [{ 'error.type': 'text' }, true],
    ]);
  });

  it('stays off with a protocol that it does not support, and says so', async () => {
    const { lines, log } = captureLog();
    await startTracing('test-service', log, { ...process.env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    expect(tracer).toBeUndefined();
    expect(lines.join('')).toContain('http/protobuf or http/json');
  });

  it('stops although the collector never responds', async () => {
    collector.isHanging = true;
    await startTracing('test-service', silent, process.env);
    tracer?.startSpan({ kind: 'internal', name: 'lost' }).end();
    await stopTracing(silent);
    expect(tracer).toBeUndefined();
    expect(collector.requestCount).toBe(1);
  });

  it('logs an unreachable collector and continues', async () => {
    await collector.stop();
    process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '500';
    const { lines, log } = captureLog();
    await startTracing('test-service', log, process.env);
    tracer?.startSpan({ kind: 'internal', name: 'lost' }).end();
    await waitFor(() => lines.some((line) => line.includes('spans are lost')), 'the fault in the log', timeoutMs);
    expect(tracer).toBeDefined();
  });

  it('adds the ids of the active span to log lines, and none outside of a span', async () => {
    await startTracing('test-service', silent, process.env);
    const span = tracer?.startSpan({ kind: 'internal', name: 'logged' });
    if (span === undefined || tracer === undefined) throw new Error('tracing is off');
    const inside = tracer.runInSpan(span, () => tracer?.logFields());
    expect(inside).toEqual({
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(tracer.logFields()).toEqual({});
    expect(tracer.run(span.context, () => runDetached(() => activeTrace()))).toBeUndefined();
  });
});

describe('a traced API', () => {
  const routes = [
    defineRoute({
      method: 'get',
      path: '/vehicles/:id',
      operationId: 'readVehicle',
      summary: 's',
      errors: {},
      handle: async ({ context }) => {
        if (context.request.url.includes('broken')) throw new Error('broken');
        return { isTraced: activeTrace() !== undefined };
      },
    }),
  ];
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

  async function get(path: string, headers: Record<string, string> = {}): Promise<string> {
    const app = createApp();
    app.use('/api', createApi({ log: silent, routes, bodyLimitBytes: 1_000 }), ...createErrorHandlers(silent));
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    try {
      const request = httpRequest({ port: server.port, path, headers }).end();
      const [response] = (await once(request, 'response')) as [AsyncIterable<Buffer>];
      let body = '';
      for await (const chunk of response) body += chunk.toString();
      return body;
    } finally {
      await server.close();
    }
  }

  it('continues the trace of its caller, and names the route without the values of its path', async () => {
    await startTracing('test-service', silent, process.env);
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    expect(await get('/api/vehicles/139?token=secret', { traceparent })).toBe('{"isTraced":true}');
    await waitFor(() => collector.spans.length === 1, 'the span', timeoutMs);
    expect(collector.spans[0]).toMatchObject({
      name: 'GET /api/vehicles/:id',
      kind: 'server',
      traceId,
      parentSpanId: '00f067aa0ba902b7',
      isFailed: false,
    });
    expect(collector.spans[0]?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.route': '/api/vehicles/:id',
      'http.response.status_code': 200,
      'url.scheme': 'http',
    });
  });

  it('begins a trace without a valid header, and marks server errors', async () => {
    await startTracing('test-service', silent, process.env);
    await get('/api/vehicles/broken', { traceparent: '00-xyz' });
    await waitFor(() => collector.spans.length === 1, 'the span', timeoutMs);
    expect(collector.spans[0]).toMatchObject({ parentSpanId: '', isFailed: true, attributes: { 'error.type': '500' } });
  });

  it('does not follow a caller that does not sample its trace', async () => {
    await startTracing('test-service', silent, process.env);
    await get('/api/vehicles/1', { traceparent: `00-${traceId}-00f067aa0ba902b7-00` });
    await stopTracing(silent);
    expect(collector.spans).toEqual([]);
  });

  it('has no spans while tracing is off', async () => {
    expect(await get('/api/vehicles/1')).toBe('{"isTraced":false}');
    expect(collector.requestCount).toBe(0);
  });
});
