import { useTranslation } from 'react-i18next';
import { RecordConflict } from '../forms/record-conflict.tsx';
import { describeSchedule, type Schedule } from '../places/schedule-fields.tsx';
import { type Geofence, toBody, toChange, toForm, toShape } from './model.ts';

type Body = Readonly<Record<string, unknown>>;

interface GeofenceConflictProps {
  /** The record as the form loaded it. */
  readonly base: Body;
  readonly mine: Body;
  /** The record as it is stored now. */
  readonly stored: Geofence;
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

const fields = [
  'name',
  'description',
  'color',
  'notify_on',
  'dwell_seconds',
  'speed_limit_kmh',
  'schedule',
  'vehicles',
  'groups',
  'push_to_terminal',
  'coordinates',
  'radius_m',
  'width_m',
] as const;
type Field = (typeof fields)[number];

/** Shows the fields that one of both versions has changed. */
export function GeofenceConflict({ base, mine, stored, ...actions }: GeofenceConflictProps) {
  const { t, i18n } = useTranslation('geofences');
  const theirs = toBody(toForm(stored), toShape(stored));
  const changed = { ...toChange(base, mine), ...toChange(base, theirs) };
  const show = (field: Field, value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (field === 'coordinates') return t('corners', { count: (value as readonly unknown[]).length });
    if (field === 'schedule') return describeSchedule(value as Schedule, i18n.language);
    if (field === 'dwell_seconds') return String(Number(value) / 60);
    return Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value);
  };
  const rows = fields
    .filter((field) => field in changed)
    .map((field) => ({
      label: t(`field.${field}`),
      mine: show(field, mine[field]),
      theirs: show(field, theirs[field]),
    }));
  return <RecordConflict rows={rows} {...actions} />;
}
