import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  /** `service.name` of its process. */
  readonly service: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isFailed: boolean;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes?: readonly OtlpAttribute[];
  readonly status?: { readonly code?: number };
}

interface OtlpRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly OtlpAttribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[];
  }[];
}

const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const errorStatus = 2;

/** A collector of OpenTelemetry: receives traces by OTLP over HTTP and decodes those in JSON. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Bodies that are not JSON. */
  readonly binaryBodies: Buffer[] = [];
  /** True: no request receives a response. */
  isHanging = false;
  requestCount = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.requestCount += 1;
        if (this.isHanging) return;
        const body = Buffer.concat(chunks);
        const isJson = request.headers['content-type'] === 'application/json';
        if (isJson) this.spans.push(...readSpans(JSON.parse(body.toString()) as OtlpRequest));
        else this.binaryBodies.push(body);
        response.writeHead(200, { 'content-type': String(request.headers['content-type']) });
        response.end(isJson ? '{}' : undefined);
      });
    });
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new OtlpReceiver(server);
  }

  /** Value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings of a process that exports its spans here soon. */
  get settings(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '200',
    };
  }

  /** Returns the span and its ancestors, as far as they were received. */
  findChain(span: ReceivedSpan): ReceivedSpan[] {
    const parent = this.spans.find(({ traceId, spanId }) => traceId === span.traceId && spanId === span.parentSpanId);
    return parent === undefined ? [span] : [span, ...this.findChain(parent)];
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }
}

const readAttributes = (attributes: readonly OtlpAttribute[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const readSpans = ({ resourceSpans = [] }: OtlpRequest): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const service = String(readAttributes(resource?.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => toReceivedSpan(service, span)));
  });

const toReceivedSpan = (service: string, span: OtlpSpan): ReceivedSpan => ({
  service,
  name: span.name,
  kind: kinds[span.kind] ?? 'internal',
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId ?? '',
  attributes: readAttributes(span.attributes),
  isFailed: span.status?.code === errorStatus,
});
