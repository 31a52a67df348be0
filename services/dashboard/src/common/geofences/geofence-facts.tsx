import { useTranslation } from 'react-i18next';
import { useFormat } from '../format/preferences-context.ts';
import { describeSchedule } from '../places/schedule-fields.tsx';
import type { Geofence } from './model.ts';

const m2PerHectare = 10_000;

/** Shows the facts of a geofence beside its form; all of them for a user who cannot edit. */
export function GeofenceFacts({ geofence, isDetailed }: { geofence: Geofence; isDetailed: boolean }) {
  const { t, i18n } = useTranslation('geofences');
  const format = useFormat();
  const hectares = new Intl.NumberFormat(i18n.language, { maximumFractionDigits: 1 });
  const facts: (readonly [string, string])[] = [
    [t('kindLabel'), t(`kind.${geofence.type}`)],
    [t('area'), `${hectares.format(geofence.area_m2 / m2PerHectare)} ha`],
    [t('vehiclesInside'), String(geofence.inside_count)],
  ];
  if (isDetailed) {
    const { notify_on: events, speed_limit_kmh: limit, description, schedule } = geofence;
    if (description !== null) facts.push([t('field.description'), description]);
    facts.push([t('field.notify_on'), events.map((event) => t(`event.${event}`)).join(', ')]);
    if (limit !== null) facts.push([t('field.speed_limit_kmh'), format.speed(limit)]);
    if (schedule !== null) facts.push([t('field.schedule'), describeSchedule(schedule, i18n.language)]);
  }
  return (
    <dl className="places-facts">
      {facts.map(([name, value]) => (
        <div key={name} className="places-fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
