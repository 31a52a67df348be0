import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { EventRecord } from '../../../common/events/event-record.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { readNumber, readText } from '../model.ts';
import { useTrack } from '../track.ts';

/** Times may differ by the delay of a network; below this it is not worth a line. */
const lateMs = 1_000;

/** Shows the facts of an event, with the speed and the ignition that the vehicle reported then. */
export function EventFacts({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  const format = useFormat();
  const { fix } = useTrack(event);
  const delayMs = event.server_timestamp - event.timestamp;
  const endedAt = readText(event, 'ended_at');
  const channel = readNumber(event, 'channel') ?? readNumber(event, 'channel_id');
  const facts: [string, ReactNode][] = [
    [
      t('vehicle'),
      <Link key="vehicle" to="/vehicles/$vehicleId" params={{ vehicleId: String(event.vehicle_id) }}>
        {event.vehicle_no}
      </Link>,
    ],
    [t('driver'), event.driver_name],
    [t('time'), format.exact(event.timestamp)],
    [t('received'), delayMs >= lateMs ? t('later', { seconds: Math.round(delayMs / 1_000) }) : null],
    [t('ended'), endedAt === undefined || Number.isNaN(Date.parse(endedAt)) ? null : format.exact(Date.parse(endedAt))],
    [t('address'), event.address],
    [t('speed'), fix === undefined ? null : format.speed(fix.speed)],
    [t('ignition'), fix?.ignition === undefined || fix.ignition === null ? null : t(fix.ignition ? 'on' : 'off')],
    [t('camera'), channel ?? null],
    [t('terminal'), event.attributes['terminal_confirmed'] === true ? t('terminalInformed') : null],
  ];
  return (
    <dl>
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
