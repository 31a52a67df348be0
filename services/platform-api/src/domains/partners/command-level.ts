import {
  type ClassifiedCommand,
  defaultCommandLevel,
  isCommandAllowed,
  isCriticalCommand,
  type PartnerCommandLevel,
} from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { verifySecondFactor } from '../auth/log-in.ts';
import { LoginThrottle } from '../auth/login-throttle.ts';
import type { CommandType, ParamsOf } from '../commands/params.ts';
import type { Command } from '../commands/schema.ts';
import { findUser } from '../users/use-cases.ts';
import type { Partner } from './schema.ts';
import { partnerCollection } from './store.ts';

/** Returns what a partner may send to terminals. */
export const commandLevelOf = ({ commandLevel = defaultCommandLevel }: Pick<Partner, 'commandLevel'>) => commandLevel;

/**
 * Throws unless the caller is an owner when the level changes. An owner with two-factor authentication also needs a
 * code.
 */
export async function authorizeLevelChange(
  deps: Pick<Deps, 'records' | 'database' | 'encryption'>,
  caller: Caller,
  change: { readonly from: PartnerCommandLevel; readonly to: PartnerCommandLevel | undefined },
  code: string | undefined,
): Promise<void> {
  if (change.to === undefined || change.to === change.from) return;
  if (!isPermitted(caller.role, 'partnerCommandLevels'))
    throw new AppError('permission_denied', 'Only an owner of the account may change command_level.');
  const user = await findUser(deps.records, caller, caller.userId);
  if (user === null) throw new AppError('permission_denied', 'Only a user of the account may change command_level.');
  // Guesses of the code are throttled as at the log-in.
  const attempts = await LoginThrottle.begin(deps, `two-factor of user ${caller.userId}`);
  await verifySecondFactor(deps, user, code, attempts);
  await attempts.reset();
}

/** Returns true for a queued command that a partner may send only with the level `critical`. */
export const isCriticalForPartner = (type: CommandType, params: Readonly<Record<string, unknown>>): boolean =>
  isCriticalCommand(classify(type, params));

function classify(type: CommandType, params: Readonly<Record<string, unknown>>): ClassifiedCommand {
  switch (type) {
    case 'control':
      return { kind: 'terminalControl', command: (params as ParamsOf<'control'>).command };
    case 'text':
      return { kind: 'sendText', text: (params as ParamsOf<'text'>).text };
    case 'set_parameters':
      return { kind: 'setParameters', parameters: (params as ParamsOf<'set_parameters'>).parameters };
    case 'raw':
      return { kind: 'raw' };
    case 'wakeup':
      return { kind: 'wakeUp' };
    case 'live_start':
      return { kind: 'startLive' };
    case 'live_stop':
      return { kind: 'controlLive' };
    case 'capture':
      return { kind: 'takePictures' };
    case 'upload':
      return { kind: 'requestUpload' };
    case 'resource_list':
      return { kind: 'listRecordings' };
    case 'query_parameters':
      return { kind: 'queryParameters' };
    case 'query_attributes':
      return { kind: 'queryAttributes' };
    case 'locate':
      return { kind: 'queryLocation' };
    case 'vehicle_control':
      return { kind: 'controlDoors' };
    default:
      return type satisfies never;
  }
}

/** Returns false if the partner of a queued command was deleted, or its level lowered, after the command was queued. */
export async function mayStillSend(records: RecordStore, command: Command): Promise<boolean> {
  const { partnerId, accountId, type, params } = command;
  if (partnerId === undefined) return true;
  const partner = await partnerCollection(records).find({ accountId }, partnerId);
  if (partner === null) return false;
  const isCritical = isCriticalForPartner(type, JSON.parse(params) as Record<string, unknown>);
  return isCommandAllowed(commandLevelOf(partner), isCritical);
}
