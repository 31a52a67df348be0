import { ActionIcon, Button, Group, Menu } from '@mantine/core';
import { IconChevronLeft, IconChevronRight, IconDownload, IconRoute } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import {
  addDays,
  formatClockTime,
  formatOffset,
  getDateOf,
  getOffsetMs,
  parseOffset,
  type TimeSpan,
} from '../../../common/timeline/time-scale.ts';
import type { Trip } from '../queries.ts';
import { DayCalendar } from './day-calendar.tsx';
import { useExport } from './use-export.ts';

interface DayHeaderProps {
  readonly vehicle: Vehicle;
  readonly date: string;
  readonly day: TimeSpan;
  readonly trips: readonly Trip[];
  readonly onDate: (date: string) => void;
  readonly onSeek: (timeMs: number) => void;
}

/** Shows the day, its zone, the trips and the export. */
export function DayHeader(props: DayHeaderProps) {
  const { t } = useTranslation('day');
  const { vehicle, date, day, onDate } = props;
  const today = getDateOf(Date.now(), vehicle.timezone);
  return (
    <Group className="day-header" gap="sm">
      <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(vehicle.id) }} className="day-vehicle">
        {vehicle.vehicle_no}
      </Link>
      <Group gap={4} wrap="nowrap">
        <ActionIcon variant="default" size={30} aria-label={t('dayBefore')} onClick={() => onDate(addDays(date, -1))}>
          <IconChevronLeft size={18} />
        </ActionIcon>
        <input
          className="day-date"
          type="date"
          aria-label={t('date')}
          value={date}
          max={today}
          onChange={({ currentTarget }) => currentTarget.value !== '' && onDate(currentTarget.value)}
        />
        <ActionIcon
          variant="default"
          size={30}
          aria-label={t('dayAfter')}
          disabled={date >= today}
          onClick={() => onDate(addDays(date, 1))}
        >
          <IconChevronRight size={18} />
        </ActionIcon>
        <DayCalendar vehicleId={vehicle.id} date={date} today={today} onDate={onDate} />
      </Group>
      <ZoneNote vehicle={vehicle} day={day} />
      <Group gap="sm" ml="auto">
        <TripsMenu {...props} />
        <ExportMenu vehicleId={vehicle.id} day={day} />
      </Group>
    </Group>
  );
}

/** Names the zone of the page, and the camera's offset if it differs. */
function ZoneNote({ vehicle, day }: { vehicle: Vehicle; day: TimeSpan }) {
  const { t } = useTranslation('day');
  const [first, last] = [getOffsetMs(day.fromMs, vehicle.timezone), getOffsetMs(day.toMs - 1, vehicle.timezone)];
  const zone = first === last ? formatOffset(first) : `${formatOffset(first)} → ${formatOffset(last)}`;
  const cameraMs = parseOffset(vehicle.camera_utc_offset);
  const isDifferent = cameraMs !== null && (cameraMs !== first || cameraMs !== last);
  return (
    <small className="day-zone">
      {t('zone', { name: vehicle.timezone, offset: zone })}
      {isDifferent ? ` ${t('cameraOffset', { offset: formatOffset(cameraMs) })}` : ''}
      {first === last ? '' : ` ${t('clockChange', { hours: (day.toMs - day.fromMs) / 3_600_000 })}`}
    </small>
  );
}

function TripsMenu({ vehicle, trips, onSeek }: DayHeaderProps) {
  const { t } = useTranslation('day');
  const format = useFormat();
  const clock = (time: string): string => formatClockTime(Date.parse(time), vehicle.timezone).slice(0, 5);
  return (
    <Menu>
      <Menu.Target>
        <Button size="xs" variant="default" leftSection={<IconRoute size={16} />} disabled={trips.length === 0}>
          {t('trips', { count: trips.length })}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {trips.map((trip) => (
          <Menu.Item key={trip.started_at} onClick={() => onSeek(Date.parse(trip.started_at))}>
            {clock(trip.started_at)} – {trip.ended_at === null ? t('inProgress') : clock(trip.ended_at)},{' '}
            {format.distance(trip.distance_km)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function ExportMenu({ vehicleId, day }: { vehicleId: number; day: TimeSpan }) {
  const { t } = useTranslation('day');
  const exportDay = useExport(vehicleId, day);
  return (
    <Menu>
      <Menu.Target>
        <Button
          size="xs"
          variant="default"
          loading={exportDay.isPending}
          color={exportDay.isError ? 'critical' : 'action'}
          leftSection={<IconDownload size={16} />}
        >
          {t(exportDay.isError ? 'exportFailed' : 'export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => exportDay.mutate('csv')}>{t('exportCsv')}</Menu.Item>
        <Menu.Item onClick={() => exportDay.mutate('gpx')}>{t('exportGpx')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
