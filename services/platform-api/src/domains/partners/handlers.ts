import {
  authorizePartnerCommand,
  findPartnerChannel,
  isCommandAllowed,
  type PartnerCommandLevel,
  queuePartnerCommand,
  sendPartnerCommand,
  serve,
  serveUseCase,
  verifyPartner,
} from '@fleet/bus';
import { AppError, commandLevelError, type Running } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { commandTypes, parseParams } from '../commands/params.ts';
import { queueForVehicle } from '../commands/use-cases.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { commandLevelOf, isCriticalForPartner } from './command-level.ts';
import { findRecordedDevice } from './partner-channels.ts';
import { mayCommand } from './rules.ts';
import { partnerCollection } from './store.ts';
import { findPartnerWithTokenHash } from './use-cases.ts';

type HandlerDeps = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'partnerChannels' | 'records'>;

/** Reserve for the response, which must reach the caller before its timeout. */
const replyReserveMs = 250;
const maxTimeoutMs = 90_000;

interface PartnerCommand {
  readonly partnerId: number;
  readonly accountId: number;
  readonly imei: string;
  readonly address: string;
}

/**
 * Serves the partner command channel of device-api: verifies tokens, authorizes commands, and sends commands to
 * partners' own devices.
 */
export function servePartners(deps: HandlerDeps, onError: (error: unknown) => void): Running[] {
  const options = { queue: 'platform-api', onError };
  return [
    serve(deps.bus, verifyPartner, options, async ({ tokenSha256, address }) => {
      const partner = await findPartnerWithTokenHash(deps.records, tokenSha256, address);
      if (partner === null) return { valid: false as const };
      const { _id: partnerId, accountId } = partner;
      return { valid: true as const, partnerId, accountId };
    }),
    serve(deps.bus, authorizePartnerCommand, options, ({ proNo, isCritical = true, ...command }) =>
      authorize(deps, command, { proNo, isCritical }),
    ),
    serveUseCase(deps.bus, queuePartnerCommand, options, async ({ type: name, params, ...command }) => {
      const type = commandTypes.find((each) => each === name);
      if (type === undefined) throw new AppError('validation_failed', `There is no command ${name}.`);
      const level = await findCommandLevel(deps, command);
      const vehicle = level === null ? null : await vehicleByImei(deps.records, command.imei);
      if (level === null || vehicle === null || vehicle.accountId !== command.accountId) return { commandId: null };
      if (!isCommandAllowed(level, isCriticalForPartner(type, parseParams(type, params)))) {
        await auditCommand(deps, command, 'partners.command_refused', {
          imei: command.imei,
          type,
          command_level: level,
        });
        throw commandLevelError();
      }
      const { partnerId } = command;
      const { commandId } = await queueForVehicle(deps, vehicle, {
        type,
        params,
        createdBy: vehicle.ownerUserId,
        partnerId,
      });
      await auditCommand(deps, command, 'partners.queue_command', { imei: command.imei, type, command_id: commandId });
      return { commandId };
    }),
    serve(deps.bus, findPartnerChannel, options, async ({ imei }) => ({
      hasChannel: await deps.partnerChannels.has(imei),
    })),
    serve(
      deps.bus,
      sendPartnerCommand,
      options,
      async ({ imei, command }, { correlationId, timeoutMs = maxTimeoutMs }) => {
        const wait = { timeoutMs: Math.max(1, timeoutMs - replyReserveMs), correlationId };
        return (await deps.partnerChannels.send(imei, { command, ...wait })) ?? { kind: 'noPartner' as const };
      },
    ),
  ];
}

/** Decides on a partner's command and records the decision in the audit log. */
async function authorize(
  deps: HandlerDeps,
  command: PartnerCommand,
  { proNo, isCritical }: { readonly proNo: number; readonly isCritical: boolean },
): Promise<{ isAdmitted: boolean; isAboveLevel?: boolean }> {
  const level = await findCommandLevel(deps, command);
  if (level === null) return { isAdmitted: false };
  const detail = { imei: command.imei, pro_no: proNo };
  if (isCommandAllowed(level, isCritical)) {
    await auditCommand(deps, command, 'partners.command', detail);
    return { isAdmitted: true };
  }
  await auditCommand(deps, command, 'partners.command_refused', { ...detail, command_level: level });
  return { isAdmitted: false, isAboveLevel: true };
}

/**
 * Returns what a partner may send to a device: null if the device is of another account or its number has no allowed
 * prefix.
 */
async function findCommandLevel(
  { records }: HandlerDeps,
  { partnerId, accountId, imei }: PartnerCommand,
): Promise<PartnerCommandLevel | null> {
  const partner = await partnerCollection(records).find({ accountId }, partnerId);
  const device = await findRecordedDevice({ records }, imei);
  if (partner === null || device?.accountId !== accountId) return null;
  return mayCommand(partner.imeiPrefixes, imei, device.recordedImei) ? commandLevelOf(partner) : null;
}

const auditCommand = (
  deps: HandlerDeps,
  { accountId, partnerId, address }: PartnerCommand,
  action: string,
  detail: object,
) => audit(deps, { accountId, ip: address }, action, { type: 'partners', id: partnerId }, { ...detail });
