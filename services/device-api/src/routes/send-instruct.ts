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
import { AppError, commandLevelError, defineRoute, Reply, type RequestContext } from '@fleet/service-kit';
import { Type } from 'typebox';
import { type PartnerIdentity, PartnerTokenCache } from '../access/partner-token-cache.ts';
import type { RateLimits } from '../access/rate-limits.ts';
import type { CommandContext, Deps } from '../deps.ts';
import { notConnectedError } from '../domain/outcome.ts';
import {
  getToken,
  type PartnerCommand,
  parsePartnerCommand,
  parsePartnerCommandBody,
  partnerCommandBody,
} from '../domain/partner-command.ts';
import { type PartnerResponse, toPartnerCode, toPartnerError } from '../domain/partner-response.ts';
import {
  type PartnerCommandResult,
  type PreparedCommand,
  preparePartnerCommand,
} from '../use-cases/prepare-partner-command.ts';

const platformTimeoutMs = 3_000;

const responseSchema = Type.Object(
  {
    code: Type.Integer({ description: '0 success, 300 offline, 301 time-out, 302 refused.', examples: [0] }),
    msg: Type.String({ examples: ['success'] }),
    data: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        "The device's response in the Device API's fields (`result`, `resources`, `video_id` …), and the hub's: `_code`, `_imei`, `_proNo`, `_requestId`, `_content` (the response as text).",
      examples: [
        {
          result: 'success',
          _code: '100',
          _msg: 'success',
          _imei: '013800138000',
          _proNo: '33536',
          _requestId: 'a1b2c3',
          _content: '{"result":"success"}',
        },
      ],
    }),
  },
  { title: 'InstructionAnswer' },
);

const errorSchema = Type.Object(
  {
    code: Type.Integer({
      description: '302 refused, 1001 parameters, 1004 token, 1006 too often.',
      examples: [1001],
    }),
    msg: Type.String({ examples: ['The parameter proNo is missing.'] }),
    data: Type.Null(),
    status: Type.Integer({ examples: [400] }),
    error: Type.String({ examples: ['The parameter proNo is missing.'] }),
  },
  { title: 'InstructionError' },
);
const createErrorResponse = (description: string) => ({ description, schema: errorSchema });

interface PartnerDeps {
  readonly limits: RateLimits;
  readonly partnerTokens: PartnerTokenCache;
}

// POST `/api/device/sendInstruct`: partners' clients command the platform's terminals like devices of the vendor's hub.
export const sendInstruct = (deps: Deps, limits: RateLimits) => {
  const partnerDeps: PartnerDeps = { limits, partnerTokens: new PartnerTokenCache(deps.bus) };
  return defineRoute({
    method: 'post',
    path: '/sendInstruct',
    operationId: 'sendInstruct',
    summary: 'Send a partner command',
    description:
      'A form, or JSON with the same names. `code` is the result of the device, with HTTP status 200; a device of another partner is offline. Requires PARTNER_COMMAND_ENABLED.',
    tags: ['Partner commands'],
    isSecured: false,
    timeoutMs: deps.config.REQUEST_TIMEOUT_MS,
    bodyTypes: ['application/x-www-form-urlencoded', 'application/json'],
    readBody: parsePartnerCommandBody,
    body: partnerCommandBody,
    renderError: toPartnerError,
    response: responseSchema,
    errors: {
      400: createErrorResponse('The command is not valid: code 1001.'),
      401: createErrorResponse('The token is missing or not valid: code 1004.'),
      403: createErrorResponse(
        "The partner's `command_level` does not allow the command, and nothing was sent: code 302.",
      ),
      413: createErrorResponse('The body is larger than 16 KiB: code 1001.'),
      415: createErrorResponse('The body is compressed: code 1001.'),
      429: createErrorResponse('Too many requests, or the device is busy: code 1006.'),
      500: createErrorResponse('Unexpected server error: code 500.'),
      503: createErrorResponse('Devices are unavailable at the moment: code 503.'),
    },
    handle: async ({ body, context }) => {
      const partner = await authenticatePartner(partnerDeps, body, context);
      const command = parsePartnerCommand(body);
      const commandContext = createCommandContext(deps, command, context);
      try {
        return await executeCommand(deps, partnerDeps, { partner, command }, commandContext, context);
      } catch (error) {
        return toErrorResponse(error, command);
      }
    },
  });
};

interface AuthenticatedCommand {
  readonly partner: PartnerIdentity;
  readonly command: PartnerCommand;
}

async function executeCommand(
  deps: Deps,
  { limits }: PartnerDeps,
  authenticated: AuthenticatedCommand,
  commandContext: CommandContext,
  context: RequestContext,
): Promise<PartnerResponse> {
  const { partner, command } = authenticated;
  const prepared = await preparePartnerCommand(deps, command, commandContext);
  const { partnerId, accountId } = partner;
  const address = context.request.ip ?? '';
  const target = { partnerId, accountId, imei: command.imei, address };
  const options = { timeoutMs: platformTimeoutMs, correlationId: context.requestId };
  const { isCritical = false } = prepared;
  const admissionRequest = { ...target, proNo: command.proNo, isCritical };
  const authorization = await mapBusError(request(deps.bus, authorizePartnerCommand, admissionRequest, options));
  if (authorization.isAboveLevel === true) throw commandLevelError();
  if (!authorization.isAdmitted) throw notConnectedError();
  const authorizedContext: CommandContext = { ...commandContext, isCriticalAllowed: isCritical };
  // After that check, so that no caller uses up the limit of a device of another account.
  await limits.consume('command', command.imei, context);
  try {
    if (!command.isSync) return await sendWithoutResult(deps, command, prepared, authorizedContext);
    return toResultResponse(await prepared.run(authorizedContext), command);
  } catch (error) {
    const isOffline = error instanceof AppError && error.code === 'device_not_connected';
    if (!isOffline || !command.isQueueable || prepared.queueEntry === null) throw error;
    const queuedCommand = callUseCase(deps.bus, queuePartnerCommand, { ...target, ...prepared.queueEntry }, options);
    const { commandId } = await mapBusError(queuedCommand);
    if (commandId === null) throw error;
    return toQueuedResponse(commandId, command);
  }
}

/** Returns the owner of the token, counted by partner; an invalid token is counted by address. */
async function authenticatePartner(
  { limits, partnerTokens }: PartnerDeps,
  body: Readonly<Record<string, unknown>>,
  context: RequestContext,
): Promise<PartnerIdentity> {
  const address = context.request.ip ?? '';
  const token = getToken(body);
  const partner = await partnerTokens.findPartner(token, address, context.requestId);
  await limits.consume('reads', partner === null ? `ip:${address}` : `partner:${partner.partnerId}`, context);
  if (partner !== null) return partner;
  throw token === ''
    ? new AppError('token_missing', 'A partner token is required.')
    : new AppError('token_invalid', 'The token is not valid.');
}

function createCommandContext(
  { config }: Pick<Deps, 'config'>,
  { timeoutMs }: PartnerCommand,
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
async function sendWithoutResult(
  { bus, log }: Pick<Deps, 'bus' | 'log'>,
  command: PartnerCommand,
  prepared: PreparedCommand,
  context: CommandContext,
): Promise<PartnerResponse> {
  const { imei } = command;
  let listener: { stop(): void } | undefined;
  const sent = new Promise<PartnerResponse>((resolve) => {
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid event of a sent command');
    const onSent = ({ commandId }: { commandId: string }): void => {
      if (commandId === context.command?.id) resolve(toResultResponse({ result: 'success' }, command));
    };
    listener = subscribe(bus, commandSent, onError, onSent, commandSentSubject(imei));
  });
  const executed = prepared.run(context).then((result) => toResultResponse(result, command));
  executed.catch((error: unknown) => context.log.debug({ err: error }, 'background command failed'));
  try {
    return await Promise.race([sent, executed]);
  } finally {
    listener?.stop();
  }
}

const toPartnerResponse = (
  code: number,
  msg: string,
  hubCode: string,
  command: PartnerCommand,
  fields: object,
): PartnerResponse => ({
  code,
  msg,
  data: {
    ...fields,
    _code: hubCode,
    _msg: msg,
    _imei: command.requestedImei,
    _proNo: command.proNo,
    _requestId: command.requestId,
  },
});

/** The hub's own codes within `data`. */
const hubCodes: Readonly<Record<number, string>> = {
  [partnerCodes.success]: '100',
  [partnerCodes.offline]: '300',
  [partnerCodes.timedOut]: '600',
  [partnerCodes.refused]: '302',
};

function toResultResponse(result: PartnerCommandResult, command: PartnerCommand): PartnerResponse {
  const isSuccess = result.result === 'success';
  const code = isSuccess ? partnerCodes.success : partnerCodes.refused;
  const msg = isSuccess ? 'success' : `The device refused the command: ${result.result}.`;
  const content = JSON.stringify(result, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return toPartnerResponse(code, msg, hubCodes[code] ?? '', command, { ...result, _content: content });
}

/** Returns the response of the hub for a queued command. */
const toQueuedResponse = (commandId: string, command: PartnerCommand): PartnerResponse =>
  toPartnerResponse(partnerCodes.success, 'The device is offline. The command is queued.', '300', command, {
    result: 'queued',
    command_id: commandId,
    _content: '',
  });

// A result of the device is a response; everything else is an error of the request.
function toErrorResponse(error: unknown, command: PartnerCommand): Reply<PartnerResponse> {
  if (!(error instanceof AppError)) throw error;
  const { code, isDeviceOutcome } = toPartnerCode(error);
  if (!isDeviceOutcome) throw error;
  return new Reply(
    200,
    toPartnerResponse(code, error.message, hubCodes[code] ?? '', command, { result: null, _content: '' }),
  );
}

async function mapBusError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError('unavailable', 'The platform is unavailable at the moment. Retry.', { cause });
  }
}
