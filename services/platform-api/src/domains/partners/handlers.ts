import {
  admitPartnerCommand,
  askPartner,
  findPartnerChannel,
  queuePartnerCommand,
  serve,
  serveUseCase,
  verifyPartner,
} from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import type { Deps } from '../../deps.ts';
import { audit } from '../audit/use-cases.ts';
import { commandTypes } from '../commands/params.ts';
import { queueForVehicle } from '../commands/use-cases.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { recordedDevice } from './channels.ts';
import { mayCommand } from './rules.ts';
import { partnersIn } from './store.ts';
import { partnerOfHash } from './use-cases.ts';

type Parts = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'partnerChannels' | 'records'>;

/** The answer has to reach its caller before the caller gives up. */
const returnTripMs = 250;
const longestWaitMs = 90_000;

interface PartnerCommand {
  readonly partnerId: number;
  readonly accountId: number;
  readonly imei: string;
  readonly address: string;
}

/** Serves the partner command channel of device-api: whose a token is, what it may command, and the way to partners' own devices. */
export function servePartners(deps: Parts, onError: (error: unknown) => void): Running[] {
  const options = { queue: 'platform-api', onError };
  return [
    serve(deps.bus, verifyPartner, options, async ({ tokenSha256, address }) => {
      const partner = await partnerOfHash(deps.records, tokenSha256, address);
      if (partner === null) return { valid: false as const };
      const { _id: partnerId, accountId } = partner;
      return { valid: true as const, partnerId, accountId };
    }),
    serve(deps.bus, admitPartnerCommand, options, async ({ proNo, ...command }) => {
      const isAdmitted = await isAllowed(deps, command);
      if (isAdmitted) await noted(deps, command, 'partners.command', { imei: command.imei, pro_no: proNo });
      return { isAdmitted };
    }),
    serveUseCase(deps.bus, queuePartnerCommand, options, async ({ type: name, params, ...command }) => {
      const type = commandTypes.find((each) => each === name);
      if (type === undefined) throw new AppError('validation_failed', `There is no command ${name}.`);
      const vehicle = (await isAllowed(deps, command)) ? await vehicleByImei(deps.records, command.imei) : null;
      if (vehicle === null || vehicle.accountId !== command.accountId) return { commandId: null };
      const { commandId } = await queueForVehicle(deps, vehicle, { type, params, createdBy: vehicle.ownerUserId });
      await noted(deps, command, 'partners.queue_command', { imei: command.imei, type, command_id: commandId });
      return { commandId };
    }),
    serve(deps.bus, findPartnerChannel, options, async ({ imei }) => ({
      hasChannel: await deps.partnerChannels.has(imei),
    })),
    serve(deps.bus, askPartner, options, async ({ imei, command }, { correlationId, timeoutMs = longestWaitMs }) => {
      const wait = { timeoutMs: Math.max(1, timeoutMs - returnTripMs), correlationId };
      return (await deps.partnerChannels.ask(imei, { command, ...wait })) ?? { kind: 'noPartner' as const };
    }),
  ];
}

/** A partner commands devices of its own account alone, whose numbers begin as its record says. */
async function isAllowed({ records }: Parts, { partnerId, accountId, imei }: PartnerCommand): Promise<boolean> {
  const partner = await partnersIn(records).find({ accountId }, partnerId);
  const device = await recordedDevice({ records }, imei);
  if (partner === null || device?.accountId !== accountId) return false;
  return mayCommand(partner.imeiPrefixes, imei, device.recordedImei);
}

const noted = (deps: Parts, { accountId, partnerId, address }: PartnerCommand, action: string, detail: object) =>
  audit(deps, { accountId, ip: address }, action, { type: 'partners', id: partnerId }, { ...detail });
