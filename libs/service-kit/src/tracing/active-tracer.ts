import type { TraceContext, Tracer } from './tracer.ts';

/** Tracer of this process; undefined while tracing is off. Hot paths test this variable and do nothing else. */
export let tracer: Tracer | undefined;

/** Switches tracing on or off for this process. */
export function setTracer(value: Tracer | undefined): void {
  tracer = value;
}

/** Returns the context of the active span; undefined without one, and while tracing is off. */
export const activeTrace = (): TraceContext | undefined => tracer?.activeContext();

/** Runs work that belongs to no caller, such as a shared queue, without the caller's span. */
export const runDetached = <T>(work: () => T): T => (tracer === undefined ? work() : tracer.runDetached(work));

/** Runs work in a trace; unchanged without one. */
export const runInTrace = <T>(trace: TraceContext | undefined, work: () => T): T =>
  trace === undefined || tracer === undefined ? work() : tracer.run(trace, work);
