import { Button, CloseButton, Group } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useSingleKeys } from '../../../common/commands/use-single-keys.ts';
import { useFormat, useNow } from '../../../common/format/preferences-context.ts';
import { useVehicle, useVisibleSlots } from '../../../common/live/live-context.ts';
import type { LiveVehicle } from '../../../common/live/live-store.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { Facts } from '../../../common/ui/facts.tsx';
import { SeverityMark, StateMark, toSeverity } from '../../../common/ui/marks.tsx';
import { useAddress, useOpenEvents, useVehicleRecord } from '../queries.ts';

const maxEvents = 3;

interface VehiclePanelProps {
  readonly vehicleId: number;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
  readonly onClose: () => void;
}

/** Shows the facts and actions of the selected vehicle. */
export function VehiclePanel({ vehicleId, isFollowing, onFollow, onClose }: VehiclePanelProps) {
  const { t } = useTranslation('map');
  const vehicle = useVehicle(vehicleId);
  const { hasLoaded } = useVisibleSlots();
  useSingleKeys({ Escape: onClose, o: () => onFollow(!isFollowing) });
  if (vehicle === undefined)
    return hasLoaded ? (
      <section className="map-panel card" aria-label={t('notFound')}>
        <Group justify="space-between" wrap="nowrap">
          <h2>{t('notFound')}</h2>
          <CloseButton aria-label={t('common:action.close')} onClick={onClose} />
        </Group>
      </section>
    ) : null;
  return (
    <section className="map-panel card" aria-label={vehicle.name}>
      <Group justify="space-between" wrap="nowrap">
        <h2>{vehicle.name}</h2>
        <CloseButton aria-label={t('common:action.close')} onClick={onClose} />
      </Group>
      <State vehicle={vehicle} />
      <VehicleFacts vehicle={vehicle} />
      <Cameras vehicle={vehicle} />
      <OpenEvents vehicleId={vehicleId} />
      <Actions vehicle={vehicle} isFollowing={isFollowing} onFollow={onFollow} />
    </section>
  );
}

/** Shows state with its value and the time since it began, and the age of the position. */
function State({ vehicle: { state, sinceMs, position } }: { vehicle: LiveVehicle }) {
  const { t } = useTranslation('map');
  const format = useFormat();
  const nowMs = useNow();
  return (
    <div className="map-state">
      <span>
        <StateMark state={state} course={position?.course ?? 0} /> {t(`common:state.${state}`)}
        {state === 'moving' && position !== null ? ` ${format.speed(position.speed)}` : ''}
      </span>
      {sinceMs === null ? null : (
        <span title={format.exact(sinceMs)}>{t('since', { age: format.age(sinceMs, nowMs) })}</span>
      )}
      {position === null ? (
        <span>{t('noPosition')}</span>
      ) : (
        <span>
          {t('fix')} <Age timeMs={position.timestamp} />
          {position.isValid ? '' : `, ${t('noFix')}`}
        </span>
      )}
    </div>
  );
}

function VehicleFacts({ vehicle }: { vehicle: LiveVehicle }) {
  const { t } = useTranslation('map');
  const format = useFormat();
  const { data: record } = useVehicleRecord(vehicle.id);
  const { data: address } = useAddress(vehicle.id, vehicle.position);
  const fuel = record?.location?.fuel_l ?? null;
  const ignition = vehicle.isIgnitionOn;
  const driverId = record?.driver_id ?? null;
  const driver =
    driverId === null ? (
      vehicle.driverName
    ) : (
      <Link to="/drivers/$driverId" params={{ driverId: String(driverId) }}>
        {vehicle.driverName}
      </Link>
    );
  return (
    <Facts
      facts={[
        [t('number'), vehicle.vehicleNo],
        ...(typeof address === 'string' ? [[t('address'), address] as const] : []),
        ...(vehicle.driverName === null ? [] : [[t('driver'), driver] as const]),
        ...(ignition === null ? [] : [[t('ignition'), ignition ? t('on') : t('off')] as const]),
        ...(fuel === null ? [] : [[t('fuel'), format.volume(fuel)] as const]),
        ...(record === undefined || record === null
          ? []
          : [[t('odometer'), format.distance(record.odometer_km)] as const]),
      ]}
    />
  );
}

function Cameras({ vehicle: { id, channelIds, permissions } }: { vehicle: LiveVehicle }) {
  const { t } = useTranslation('map');
  const can = useCan();
  if (channelIds.length === 0 || !can('video') || !permissions.includes('live_video')) return null;
  return (
    <Group gap="xs" mt="sm">
      {channelIds.map((channel) => (
        <Button key={channel} size="compact-xs" variant="default" component={Link} to={`/video?tiles=${id}.${channel}`}>
          {t('camera', { number: channel })}
        </Button>
      ))}
    </Group>
  );
}

/** Shows the newest events that are not acknowledged. */
function OpenEvents({ vehicleId }: { vehicleId: number }) {
  const { t } = useTranslation();
  const { data = [] } = useOpenEvents(vehicleId);
  if (data.length === 0) return null;
  return (
    <>
      <h3 className="map-events-title">{t('map:openEvents', { count: data.length })}</h3>
      <ul className="row-list">
        {data.slice(0, maxEvents).map((event) => (
          <li key={event.id}>
            <SeverityMark severity={toSeverity(event.severity)} label={t(`severity.${toSeverity(event.severity)}`)} />
            <Link to="/events/{-$eventId}" params={{ eventId: String(event.id) }} search={{ vehicle: vehicleId }}>
              {event.title}
            </Link>
            <Age timeMs={event.timestamp} />
          </li>
        ))}
      </ul>
    </>
  );
}

interface ActionsProps {
  readonly vehicle: LiveVehicle;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
}

function Actions({ vehicle: { id, permissions, channelIds }, isFollowing, onFollow }: ActionsProps) {
  const { t } = useTranslation('map');
  const format = useFormat();
  const can = useCan();
  const navigate = useNavigate();
  const mayWatch = can('video') && permissions.includes('live_video');
  const live = `/video?tiles=${id}.${channelIds[0] ?? 1}`;
  const day = `/vehicles/${id}/day/${format.date(Date.now())}`;
  useSingleKeys({
    l: () => void (mayWatch && navigate({ to: live })),
    d: () => void navigate({ to: day }),
  });
  return (
    <Group mt="md" gap="sm">
      {mayWatch ? (
        <Button size="xs" component={Link} to={live}>
          {t('live')}
        </Button>
      ) : null}
      <Button size="xs" variant="default" component={Link} to={day}>
        {t('day')}
      </Button>
      <Button
        size="xs"
        variant={isFollowing ? 'filled' : 'default'}
        aria-pressed={isFollowing}
        onClick={() => onFollow(!isFollowing)}
      >
        {t('follow')}
      </Button>
      <Button size="xs" variant="default" component={Link} to={`/vehicles/${id}`}>
        {t('open')}
      </Button>
    </Group>
  );
}
