import { createHash } from 'node:crypto';
import { AppError, type PageItems, type Paging, type RequestContext, rawBodyOf, readSorting } from '@fleet/service-kit';
import { callerIfAny } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { given } from '../../fields.ts';
import { isForm } from '../../http/forms.ts';
import { normalPhone } from '../../phone.ts';
import type { TakenText } from '../../senders/platform-messages.ts';
import type { Conditions, NewAccountRecord, Scope } from '../../store/account-records.ts';
import { readMoment } from '../../times.ts';
import { isLetIn } from '../accounts/standing.ts';
import { normalEmail } from '../users/rules.ts';
import type { User } from '../users/schema.ts';
import { findByEmail, findByPhone } from '../users/use-cases.ts';
import { normalVehicleNo } from '../vehicles/rules.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { answerAbout, callerBehind } from './answers.ts';
import { type Call, readCall, readSms, type Sms, statusesBefore } from './payloads.ts';
import { intentOf, namedVehicle, readCommand, unknownCaller } from './rules.ts';
import type { ChatMessage, ListChatQuery, Provider } from './schema.ts';
import { isSigned } from './signatures.ts';
import { findMessage, findSent, messagesIn } from './store.ts';

type Parts = Pick<Deps, 'records' | 'database' | 'redis' | 'log' | 'config' | 'limits' | 'messages' | 'background'>;
type Body = Readonly<Record<string, unknown>>;

/** 401 unless a request carries its provider's signature, or the two platform headers, which the guard has checked. */
export async function requireSignature(
  { config, limits }: Pick<Deps, 'config' | 'limits'>,
  provider: Provider,
  context: RequestContext,
): Promise<void> {
  if (callerIfAny(context) !== undefined) return;
  const { request } = context;
  const signed = {
    url: config.PUBLIC_BASE_URL + request.originalUrl,
    header: (name: string) => request.get(name),
    rawBody: rawBodyOf(context),
    isForm: isForm(context),
  };
  if (await isSigned(provider, signed, config)) return;
  await limits.consume('platform', `ip:${request.ip ?? ''}`, context);
  throw new AppError('signature_invalid', "The provider's signature is missing or not valid.");
}

/** Keeps a text message once, or the news about one that went out; answers the command in it. */
export async function receiveSms(deps: Parts, provider: Provider, body: Body, context: RequestContext): Promise<void> {
  const sms = readSms(provider, body);
  const messageKey = `sms:${provider}:${sms.id}`;
  if (sms.isCallBack) return followSms(deps, messageKey, sms, context);
  const { user, scope } = await partiesOf(deps, sms, context);
  if ((await findMessage(deps.records, scope.accountId, messageKey)) !== null) return;
  const command = user === null ? null : await commandOf(deps, user, sms.text);
  const isNew = await keep(deps, scope, {
    messageKey,
    channel: 'sms',
    provider,
    providerMessageId: sms.id,
    direction: 'in',
    from: sms.from,
    to: sms.to,
    text: sms.text,
    status: 'received',
    userId: user?._id ?? null,
    vehicleId: command?.vehicle?._id ?? null,
    receivedAt: new Date(),
  });
  if (!isNew || command === null || user === null) return;
  // The provider that waits here has less patience than the one that sends may need.
  deps.background.run(
    () => reply(deps, scope, user, sms, provider, command),
    'the answer to an SMS is not in the chat log',
  );
}

/** Notes what a provider tells of the way of a message. It is in the account that sent it, whoever has the number that it went to. */
async function followSms(
  { records }: Parts,
  messageKey: string,
  { status }: Sms,
  context: RequestContext,
): Promise<void> {
  const caller = callerIfAny(context);
  const known =
    caller === undefined
      ? await findSent(records, messageKey)
      : await findMessage(records, caller.accountId, messageKey);
  if (known === null || status === null) return;
  const where = { _id: known._id, status: { $in: statusesBefore(status) } };
  await messagesIn(records).updateMany(known, where, { $set: { status } });
}

interface Command {
  readonly command: 'where' | 'status';
  readonly vehicle: Vehicle | undefined;
}

async function commandOf(deps: Parts, user: User, text: string): Promise<Command | null> {
  const asked = deps.config.SMS_COMMANDS ? readCommand(text) : null;
  if (asked === null) return null;
  const visible = await visibleVehicles(deps, callerBehind(user));
  const vehicleNo = normalVehicleNo(asked.vehicleNo);
  return {
    command: asked.command,
    vehicle: visible.map(({ vehicle }) => vehicle).find((vehicle) => vehicle.vehicleNo === vehicleNo),
  };
}

/** Sent to the number on the user's record, and kept beside the question. */
async function reply(
  deps: Parts,
  scope: Scope,
  user: User,
  sms: Sms,
  provider: Provider,
  { command, vehicle }: Command,
): Promise<void> {
  const intent = command === 'where' ? 'vehicle_location' : 'vehicle_status';
  const { text } =
    vehicle === undefined
      ? { text: 'There is no such vehicle.' }
      : await answerAbout(deps, callerBehind(user), vehicle, intent);
  const to = user.phoneNumber ?? sms.from;
  const about = { from: sms.to, to, text, userId: user._id, vehicleId: vehicle?._id ?? null };
  let status: ChatMessage['status'] = 'sent';
  let taken: TakenText | null = null;
  try {
    taken = await deps.messages.send({ kind: 'sms', to, text });
  } catch (error) {
    // The question is kept all the same.
    deps.log.warn({ err: error }, 'the answer to an SMS could not be sent');
    status = 'failed';
  }
  if (taken !== null) {
    await keepSent(deps, scope, { ...about, provider: taken.provider, providerMessageId: taken.id });
    return;
  }
  // Nobody tells anything of one without a name.
  await keep(deps, scope, {
    ...about,
    messageKey: `sms:${provider}:reply:${sms.id}`,
    channel: 'sms',
    provider,
    providerMessageId: `reply:${sms.id}`,
    direction: 'out',
    status,
    receivedAt: new Date(),
  });
}

/** A text message that a provider has taken. */
export type SentText = Pick<
  ChatMessage,
  'provider' | 'providerMessageId' | 'from' | 'to' | 'text' | 'userId' | 'vehicleId'
>;

/** Keeps a text message that a provider has taken; what the provider tells of its way later finds it by its id. */
export const keepSent = (deps: Pick<Deps, 'records'>, scope: Scope, sent: SentText): Promise<boolean> =>
  keep(deps, scope, {
    ...sent,
    messageKey: `sms:${sent.provider}:${sent.providerMessageId}`,
    channel: 'sms',
    direction: 'out',
    status: 'sent',
    receivedAt: new Date(),
  });

/** Answers what was said in a call; an unknown caller hears a fixed sentence. */
export async function receiveCall(deps: Parts, provider: Provider, body: Body, context: RequestContext) {
  const call = readCall(provider, body);
  const { user, scope } = await partiesOf(deps, call, context);
  const answer = user === null ? refusal : await answerTo(deps, user, call.transcript);
  await keep(deps, scope, {
    messageKey: `voice:${provider}:${call.id}:${createHash('sha256').update(call.transcript).digest('hex')}`,
    channel: 'voice',
    provider,
    providerMessageId: call.id,
    direction: 'in',
    from: call.from,
    to: call.to,
    text: call.transcript,
    status: 'received',
    userId: user?._id ?? null,
    vehicleId: answer.vehicleId,
    receivedAt: new Date(),
  });
  return { reply: answer.reply, end: answer.end, data: answer.data };
}

const refusal = { reply: unknownCaller, end: true, data: null, vehicleId: null };

async function answerTo(deps: Parts, user: User, transcript: Call['transcript']) {
  const intent = intentOf(transcript);
  const ask = (text: string) => ({ reply: text, end: false, data: null, vehicleId: null });
  if (intent === null)
    return ask('You can ask where a vehicle is, how it is, for its last alert, or for a link to share it.');
  const caller = callerBehind(user);
  const vehicles = (await visibleVehicles(deps, caller)).map(({ vehicle }) => vehicle);
  const vehicle = namedVehicle(transcript, vehicles) ?? (vehicles.length === 1 ? (vehicles[0] ?? null) : null);
  if (vehicle === null) return ask('Which vehicle? Please say its number.');
  const { text, data } = await answerAbout(deps, caller, vehicle, intent);
  const slots = { vehicle_no: vehicle.vehicleNo };
  return { reply: text, end: true, data: { intent, slots, ...data }, vehicleId: vehicle._id };
}

/** Who speaks, and whose the message is: the caller's with platform headers, else the user's, else the operator's own. */
async function partiesOf(
  deps: Parts,
  { from, to }: { readonly from: string; readonly to: string },
  context: RequestContext,
): Promise<{ user: User | null; scope: Scope }> {
  const caller = callerIfAny(context);
  const user = await userBehind(deps, from);
  if (caller !== undefined) {
    const { accountId } = caller;
    return { user: user?.accountId === accountId ? user : null, scope: { accountId } };
  }
  const other = user ?? (await userBehind(deps, to));
  const accountId = other?.accountId ?? (await operatorsAccount(deps));
  return { user, scope: { accountId } };
}

/** Whose number it is counts once the user has shown to have it: anybody can write any number into a record. */
async function userBehind({ records }: Parts, number: string): Promise<User | null> {
  // Some providers leave the plus out.
  const phone = normalPhone(number) ?? normalPhone(`+${number}`);
  const user = phone === null ? null : await findByPhone(records, phone);
  if (user === null || user.disabled || user.phoneVerifiedAt === null) return null;
  return (await isLetIn(records, user.accountId)) ? user : null;
}

/** Messages of strangers are for whoever runs the platform; account 0 is nobody's. */
async function operatorsAccount({ records, config }: Parts): Promise<number> {
  const email = config.BOOTSTRAP_OWNER_EMAIL;
  const owner = email === undefined ? null : await findByEmail(records, normalEmail(email));
  return owner?.accountId ?? 0;
}

/** False when the message is there already. */
async function keep(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  message: NewAccountRecord<ChatMessage>,
): Promise<boolean> {
  try {
    await messagesIn(records).insert(scope, message);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'duplicate') return false;
    throw error;
  }
}

/** A page of the account's messages and calls. */
export function listMessages(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  query: ListChatQuery,
  paging: Paging,
): Promise<PageItems<ChatMessage>> {
  const [from, to] = [readMoment(query.from, 'from'), readMoment(query.to, 'to')];
  const receivedAt: Conditions = given({ $gte: from, $lt: to });
  const { field, direction } = readSorting(query.sort);
  return messagesIn(records).list(scope, {
    where: {
      ...given({ channel: query.channel, vehicleId: query.vehicle_id }),
      ...(Object.keys(receivedAt).length === 0 ? {} : { receivedAt }),
    },
    sorting: { field: field === 'received_at' ? 'receivedAt' : field, direction },
    paging,
  });
}

/** Removes numbers and texts of the messages to and from a user, whose personal fields are removed. */
export const forgetUser = ({ records }: Pick<Deps, 'records'>, scope: Scope, userId: number): Promise<number> =>
  messagesIn(records).updateMany(scope, { userId }, { $set: { from: '', to: '', text: '' } });
