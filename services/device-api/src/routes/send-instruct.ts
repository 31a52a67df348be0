import { randomBytes } from 'node:crypto';
import {
  authorizePartnerCommand,
  BusError,
  callUseCase,
  commandSent,
  commandSentSubject,
  partnerCodes,
  queuePartnerCommand,
  request,
  subscribe,
} from '@fleet/bus';
import { AppError, defineRoute, Reply, type RequestContext } from '@fleet/service-kit';
import { Type } from 'typebox';
import { PartnerCache, type PartnerSender } from '../access/partner-cache.ts';
import type { RateLimits } from '../access/rate-limits.ts';
import type { CommandContext, Deps } from '../deps.ts';
import {
  type Instruction,
  instructionBody,
  readInstruction,
  readInstructionBody,
  tokenOf,
} from '../domain/instruction.ts';
import { aboveCommandLevel, notConnected } from '../domain/outcome.ts';
import { type PartnerAnswer, partnerCodeOf, partnerError } from '../domain/partner-answer.ts';
import { type InstructionResult, type ReadyInstruction, readyInstruction } from '../use-cases/carry-out-instruction.ts';

const platformLimitMs = 3_000;

const answer = Type.Object(
  {
    code: Type.Integer({ description: '0 success, 300 offline, 301 time-out, 302 refused.' }),
    msg: Type.String(),
    data: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        "The device's response in the Device API's fields (`result`, `resources`, `video_id` …), and the hub's: `_code`, `_imei`, `_proNo`, `_requestId`, `_content` (the response as text).",
    }),
  },
  { title: 'InstructionAnswer' },
);

const fault = Type.Object(
  {
    code: Type.Integer({ description: '302 refused, 1001 parameters, 1004 token, 1006 too often.' }),
    msg: Type.String(),
    data: Type.Null(),
    status: Type.Integer(),
    error: Type.String(),
  },
  { title: 'InstructionError' },
);
const failure = (description: string) => ({ description, schema: fault });

interface Parts {
  readonly limits: RateLimits;
  readonly partners: PartnerCache;
}

/** POST `/api/device/sendInstruct`: partners' clients command our terminals like devices of the vendor's hub. */
export const sendInstruct = (deps: Deps, limits: RateLimits) => {
  const parts: Parts = { limits, partners: new PartnerCache(deps.bus) };
  return defineRoute({
    method: 'post',
    path: '/sendInstruct',
    operationId: 'sendInstruct',
    summary: 'Send a partner command',
    description:
      'A form, or JSON with the same names. `code` is the result of the device, with HTTP status 200; a device of another partner is offline. Requires PARTNER_COMMAND_ENABLED.',
    tags: ['Partner commands'],
    isSecured: false,
    timeoutMs: deps.config.REQUEST_LIMIT_MS,
    bodyTypes: ['application/x-www-form-urlencoded', 'application/json'],
    readBody: readInstructionBody,
    body: instructionBody,
    renderError: partnerError,
    response: answer,
    errors: {
      400: failure('The command is not valid: code 1001.'),
      401: failure('The token is missing or not valid: code 1004.'),
      403: failure("The partner's `command_level` does not allow the command, and nothing was sent: code 302."),
      413: failure('The body is larger than 16 KiB: code 1001.'),
      415: failure('The body is compressed: code 1001.'),
      429: failure('Too many requests, or the device is busy: code 1006.'),
      500: failure('Unexpected server error: code 500.'),
      503: failure('Devices are unavailable at the moment: code 503.'),
    },
    handle: async ({ body, context }) => {
      const sender = await senderOf(parts, body, context);
      const instruction = readInstruction(body);
      const commanded = commandContext(deps, instruction, context);
      try {
        return await carryOut(deps, parts, { sender, instruction }, commanded, context);
      } catch (error) {
        return answerOfError(error, instruction);
      }
    },
  });
};

interface Asked {
  readonly sender: PartnerSender;
  readonly instruction: Instruction;
}

async function carryOut(
  deps: Deps,
  { limits }: Parts,
  asked: Asked,
  commanded: CommandContext,
  context: RequestContext,
): Promise<PartnerAnswer> {
  const { sender, instruction } = asked;
  const ready = await readyInstruction(deps, instruction, commanded);
  const { partnerId, accountId } = sender;
  const address = context.request.ip ?? '';
  const who = { partnerId, accountId, imei: instruction.imei, address };
  const options = { timeoutMs: platformLimitMs, correlationId: context.requestId };
  const { isCritical = false } = ready;
  const wanted = { ...who, proNo: instruction.proNo, isCritical };
  const admission = await orUnavailable(request(deps.bus, authorizePartnerCommand, wanted, options));
  if (admission.isAboveLevel === true) throw aboveCommandLevel();
  if (!admission.isAdmitted) throw notConnected();
  const admitted = { ...commanded, mayBeCritical: isCritical };
  // After that check, so that no caller uses up the limit of a device of another account.
  await limits.consume('command', instruction.imei, context);
  try {
    if (!instruction.isSync) return await writeOnly(deps, instruction, ready, admitted);
    return answerOfResult(await ready.run(admitted), instruction);
  } catch (error) {
    const isAway = error instanceof AppError && error.code === 'device_not_connected';
    if (!isAway || !instruction.mayWait || ready.queued === null) throw error;
    const queued = callUseCase(deps.bus, queuePartnerCommand, { ...who, ...ready.queued }, options);
    const { commandId } = await orUnavailable(queued);
    if (commandId === null) throw error;
    return queuedAnswer(commandId, instruction);
  }
}

/** Returns the owner of the token, counted by partner; an invalid token is counted by address. */
async function senderOf(
  { limits, partners }: Parts,
  body: Readonly<Record<string, unknown>>,
  context: RequestContext,
): Promise<PartnerSender> {
  const address = context.request.ip ?? '';
  const token = tokenOf(body);
  const sender = await partners.senderOf(token, address, context.requestId);
  await limits.consume('reads', sender === null ? `ip:${address}` : `partner:${sender.partnerId}`, context);
  if (sender !== null) return sender;
  throw token === ''
    ? new AppError('token_missing', 'A partner token is required.')
    : new AppError('token_invalid', 'The token is not valid.');
}

function commandContext(
  { config }: Pick<Deps, 'config'>,
  { timeoutMs }: Instruction,
  context: RequestContext,
): CommandContext {
  return {
    correlationId: context.requestId,
    log: context.log,
    command: { id: randomBytes(16).toString('hex'), isRetry: false },
    deadlineAtMs: context.receivedAtMs + Math.min(timeoutMs, config.DEVICE_REPLY_TIMEOUT_MS),
  };
}

/** Responds once the device's socket has accepted the command, or with the outcome if that is known earlier. */
async function writeOnly(
  { bus, log }: Pick<Deps, 'bus' | 'log'>,
  instruction: Instruction,
  ready: ReadyInstruction,
  context: CommandContext,
): Promise<PartnerAnswer> {
  const { imei } = instruction;
  let listener: { stop(): void } | undefined;
  const written = new Promise<PartnerAnswer>((resolve) => {
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid event of a sent command');
    const onSent = ({ commandId }: { commandId: string }): void => {
      if (commandId === context.command?.id) resolve(answerOfResult({ result: 'success' }, instruction));
    };
    listener = subscribe(bus, commandSent, onError, onSent, commandSentSubject(imei));
  });
  const ended = ready.run(context).then((result) => answerOfResult(result, instruction));
  ended.catch((error: unknown) => context.log.debug({ err: error }, 'background command failed'));
  try {
    return await Promise.race([written, ended]);
  } finally {
    listener?.stop();
  }
}

const told = (code: number, msg: string, inner: string, instruction: Instruction, more: object): PartnerAnswer => ({
  code,
  msg,
  data: {
    ...more,
    _code: inner,
    _msg: msg,
    _imei: instruction.askedImei,
    _proNo: instruction.proNo,
    _requestId: instruction.requestId,
  },
});

/** The hub's own codes within `data`. */
const innerCodes: Readonly<Record<number, string>> = {
  [partnerCodes.success]: '100',
  [partnerCodes.offline]: '300',
  [partnerCodes.timedOut]: '600',
  [partnerCodes.refused]: '302',
};

function answerOfResult(result: InstructionResult, instruction: Instruction): PartnerAnswer {
  const isDone = result.result === 'success';
  const code = isDone ? partnerCodes.success : partnerCodes.refused;
  const msg = isDone ? 'success' : `The device refused the command: ${result.result}.`;
  const content = JSON.stringify(result, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return told(code, msg, innerCodes[code] ?? '', instruction, { ...result, _content: content });
}

/** Response of the hub for a queued command. */
const queuedAnswer = (commandId: string, instruction: Instruction): PartnerAnswer =>
  told(partnerCodes.success, 'The device is offline. The command is queued.', '300', instruction, {
    result: 'queued',
    command_id: commandId,
    _content: '',
  });

/** A result of the device is a response; everything else is an error of the request. */
function answerOfError(error: unknown, instruction: Instruction): Reply<PartnerAnswer> {
  if (!(error instanceof AppError)) throw error;
  const { code, isOfDevice } = partnerCodeOf(error);
  if (!isOfDevice) throw error;
  return new Reply(200, told(code, error.message, innerCodes[code] ?? '', instruction, { result: null, _content: '' }));
}

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError('unavailable', 'The platform is unavailable at the moment.', { cause });
  }
}
