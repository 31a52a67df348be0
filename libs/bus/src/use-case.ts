import { AppError, type ErrorCode, errorCodes } from '@fleet/service-kit';
import { type Static, type TObject, Type } from 'typebox';
import type { Bus } from './connection.ts';
import { type BusContext, defineRequest, type RequestOptions, request, serve } from './contract.ts';

const failure = Type.Object({
  ok: Type.Literal(false),
  code: Type.String(),
  message: Type.String(),
  /** Header `Retry-After`. */
  retryAfter: Type.Optional(Type.String({ maxLength: 32 })),
});
const retryAfterHeader = 'Retry-After';

// A use case that a service offers over the bus and over HTTP. Errors travel with their code, so that both return the
// same status.
export const defineUseCase = <Q extends TObject, A extends TObject>(definition: {
  subject: string;
  request: Q;
  result: A;
}) =>
  defineRequest({
    subject: definition.subject,
    request: definition.request,
    reply: Type.Union([Type.Object({ ok: Type.Literal(true), result: definition.result }), failure]),
  });

/** A use case and its schemas. */
export type UseCase<Q extends TObject, A extends TObject> = ReturnType<typeof defineUseCase<Q, A>>;

type UseCaseReply<A extends TObject> = { ok: true; result: Static<A> } | Static<typeof failure>;

/** Serves a use case in a queue group. An AppError reaches the caller; every other error goes to `onError`. */
export function serveUseCase<Q extends TObject, A extends TObject>(
  bus: Bus,
  useCase: UseCase<Q, A>,
  options: { queue: string; onError: (error: unknown) => void },
  handler: (body: Static<Q>, context: BusContext) => Promise<Static<A>>,
): { stop(): Promise<void> } {
  const run = async (body: Static<Q>, context: BusContext): Promise<UseCaseReply<A>> => {
    try {
      return { ok: true, result: await handler(body, context) };
    } catch (error) {
      if (error instanceof AppError) return toFailure(error);
      throw error;
    }
  };
  return serve(bus, useCase, options, (body, context) => run(body, context) as Promise<never>);
}

/**
 * Calls a use case of another service. Returns its result or throws its AppError; throws a BusError without a reply.
 */
export async function callUseCase<Q extends TObject, A extends TObject>(
  bus: Bus,
  useCase: UseCase<Q, A>,
  body: Static<Q>,
  options: RequestOptions,
): Promise<Static<A>> {
  const reply = (await request(bus, useCase, body, options)) as UseCaseReply<A>;
  if (reply.ok) return reply.result;
  const { code, message, retryAfter } = reply;
  throw new AppError(code in errorCodes ? (code as ErrorCode) : 'internal', message, {
    headers: retryAfter === undefined ? {} : { [retryAfterHeader]: retryAfter },
  });
}

function toFailure({ code, message, headers }: AppError): Static<typeof failure> {
  const retryAfter = headers[retryAfterHeader];
  return { ok: false, code, message, ...(retryAfter === undefined ? {} : { retryAfter }) };
}
