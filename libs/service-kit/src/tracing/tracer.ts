import {
  type Attributes,
  type Context,
  context,
  type Tracer as OpenTelemetryTracer,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api';

const spanKinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Position in a trace: the parent of further spans. */
export type TraceContext = Context;

/** Values of attributes. They contain no secret, position, phone number or terminal number. */
type SpanAttributes = Attributes;

interface SpanOptions {
  readonly kind: keyof typeof spanKinds;
  /** One of few names, without ids. */
  readonly name: string;
  readonly attributes?: SpanAttributes;
  /** Default: the active span, if any. */
  readonly parent?: TraceContext | undefined;
}

/** Headers of W3C Trace Context. */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** Represents a span in progress. */
export class TraceSpan {
  readonly context: TraceContext;
  readonly #span: Span;

  constructor(span: Span, parent: TraceContext) {
    this.#span = span;
    this.context = trace.setSpan(parent, span);
  }

  setAttributes(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  /** Marks the span as failed. Records the type of an error alone: its message may contain private data. */
  fail(error: unknown): void {
    this.#span.setAttribute('error.type', toErrorType(error));
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}

/** Creates spans. The active span follows calls, promises and timers. */
export class Tracer {
  readonly #tracer: OpenTelemetryTracer;
  readonly #propagator: TextMapPropagator;
  readonly #shutdown: () => Promise<void>;

  constructor(parts: {
    readonly tracer: OpenTelemetryTracer;
    readonly propagator: TextMapPropagator;
    readonly shutdown: () => Promise<void>;
  }) {
    this.#tracer = parts.tracer;
    this.#propagator = parts.propagator;
    this.#shutdown = parts.shutdown;
  }

  startSpan({ kind, name, attributes = {}, parent = context.active() }: SpanOptions): TraceSpan {
    return new TraceSpan(this.#tracer.startSpan(name, { kind: spanKinds[kind], attributes }, parent), parent);
  }

  /** Runs work with the span of a context as the active one. */
  run<T>(active: TraceContext, work: () => T): T {
    return context.with(active, work);
  }

  /** Runs work without an active span. */
  runDetached<T>(work: () => T): T {
    return context.with(ROOT_CONTEXT, work);
  }

  /** Runs work in a span, which ends with the result or its promise. `isFault` decides which errors fail the span. */
  runInSpan<T>(span: TraceSpan, work: () => T, isFault: (error: unknown) => boolean = () => true): T {
    const onError = (error: unknown): never => {
      if (isFault(error)) span.fail(error);
      span.end();
      throw error;
    };
    let result: T;
    try {
      result = this.run(span.context, work);
    } catch (error) {
      return onError(error);
    }
    if (!isPromise(result)) {
      span.end();
      return result;
    }
    return result.then((value) => {
      span.end();
      return value;
    }, onError) as T;
  }

  /** Returns the context of the active span; undefined without one. */
  activeContext(): TraceContext | undefined {
    const active = context.active();
    return trace.getSpan(active) === undefined ? undefined : active;
  }

  /** Calls `set` with the headers of W3C Trace Context. */
  inject(from: TraceContext, set: (name: string, value: string) => void): void {
    this.#propagator.inject(from, undefined, { set: (_carrier, name, value) => set(name, value) });
  }

  /** Returns the headers of W3C Trace Context, to store them. */
  toHeaders(from: TraceContext): TraceHeaders {
    const found: Record<string, string> = {};
    this.inject(from, (name, value) => {
      found[name] = value;
    });
    return { traceparent: '', ...found };
  }

  /** Reads the headers of W3C Trace Context; returns undefined without valid ones. */
  extract(get: (name: string) => string | undefined): TraceContext | undefined {
    const getter = { get: (_carrier: undefined, name: string) => get(name), keys: () => [] };
    const extracted = this.#propagator.extract(ROOT_CONTEXT, undefined, getter);
    return trace.getSpan(extracted) === undefined ? undefined : extracted;
  }

  /** Returns the ids of the active span, for log lines. */
  logFields(): object {
    const span = trace.getSpan(context.active())?.spanContext();
    return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
  }

  /** Exports the remaining spans. */
  shutdown(): Promise<void> {
    return this.#shutdown();
  }
}

/** Returns `error.type` of the semantic conventions: the code or the kind of an error, else its class. */
function toErrorType(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return '_OTHER';
  const { code, kind } = error as { code?: unknown; kind?: unknown };
  return [code, kind].find((value) => typeof value === 'string') ?? error.name;
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
