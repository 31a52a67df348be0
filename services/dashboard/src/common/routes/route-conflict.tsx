import { useTranslation } from 'react-i18next';
import { RecordConflict } from '../forms/record-conflict.tsx';
import { describeSchedule, type Schedule } from '../places/schedule-fields.tsx';
import { type Route, toBody, toChange, toForm, toShape } from './model.ts';

type Body = Readonly<Record<string, unknown>>;

interface RouteConflictProps {
  /** The record as the form loaded it. */
  readonly base: Body;
  readonly mine: Body;
  /** The record as it is stored now. */
  readonly stored: Route;
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

const fields = [
  'name',
  'description',
  'color',
  'profile',
  'deviation_m',
  'notify_on',
  'speed_limit_kmh',
  'schedule',
  'active',
  'waypoints',
  'path',
] as const;

/** Shows the fields that one of both versions has changed. */
export function RouteConflict({ base, mine, stored, ...actions }: RouteConflictProps) {
  const { t, i18n } = useTranslation('routes');
  const theirs = toBody(toForm(stored), toShape(stored));
  const changed = { ...toChange(base, mine), ...toChange(base, theirs) };
  const show = (field: (typeof fields)[number], value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (field === 'schedule') return describeSchedule(value as Schedule, i18n.language);
    if (field === 'waypoints' || field === 'path') return t('points', { count: (value as readonly unknown[]).length });
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
