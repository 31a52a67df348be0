import { useTranslation } from 'react-i18next';
import { useFormat } from '../format/preferences-context.ts';
import { Failure } from '../ui/states.tsx';
import type { useTollGates } from './queries.ts';

/** The toll gates along the stored path, in driving order. Renders nothing without any. */
export function TollGates({ gates }: { gates: ReturnType<typeof useTollGates> }) {
  const { t, i18n } = useTranslation('routes');
  const format = useFormat();
  if (gates.isError) return <Failure error={gates.error} onRetry={() => void gates.refetch()} />;
  if (gates.data === undefined || gates.data.length === 0) return null;
  const price = ({ single, currency }: { single: number; currency: string }): string =>
    new Intl.NumberFormat(i18n.language, { style: 'currency', currency }).format(single / 100);
  return (
    <section aria-label={t('tollGates')}>
      <h3>{t('tollGates')}</h3>
      <ol className="row-list">
        {gates.data.map(({ id, name, distance_from_start_m: distanceM = 0, rates }) => (
          <li key={id}>
            <strong>{name}</strong>
            <span>{t('afterDistance', { distance: format.distance(distanceM / 1_000) })}</span>
            <small>{rates.map((rate) => `${rate.vehicle_class} ${price(rate)}`).join(', ')}</small>
          </li>
        ))}
      </ol>
    </section>
  );
}
