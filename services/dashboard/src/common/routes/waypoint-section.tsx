import { Button, Group, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { CornerList } from '../places/corner-list.tsx';
import type { ShapeState } from '../places/use-shape.ts';
import { emptyStop, type RouteForm } from './model.ts';

interface WaypointSectionProps {
  readonly form: UseFormReturnType<RouteForm>;
  readonly editing: ShapeState;
}

/** The waypoints: their places as numbers, their names, radii and stops. */
export function WaypointSection({ form, editing: { shape, drawing, hasMap, actions } }: WaypointSectionProps) {
  const { t } = useTranslation('routes');
  const fault = form.errors['waypoints'];
  const setWidth = (next: NonNullable<typeof shape>): void => actions.set({ ...next, widthM: null });
  return (
    <section aria-label={t('waypoints')}>
      <h3>{t('waypoints')}</h3>
      {drawing === null ? null : <Text role="status">{t('drawHint')}</Text>}
      <Group gap="sm">
        <Button size="xs" variant="default" disabled={drawing !== null} onClick={() => actions.draw('corridor')}>
          {t(shape === null ? 'draw' : 'drawAgain')}
        </Button>
        {shape === null ? (
          <Button size="xs" variant="default" disabled={!hasMap} onClick={() => actions.place('corridor')}>
            {t('placeInMiddle')}
          </Button>
        ) : null}
      </Group>
      {shape === null ? null : (
        <>
          <CornerList shape={shape} onChange={setWidth} onFocus={actions.focus} />
          <details>
            <summary>{t('stops')}</summary>
            {shape.positions.map((_, index) => {
              const stop = form.values.stops[index] ?? emptyStop;
              const change = (next: Partial<typeof stop>): void =>
                form.setFieldValue(
                  'stops',
                  shape.positions.map((_unused, at) => ({
                    ...(form.values.stops[at] ?? emptyStop),
                    ...(at === index ? next : {}),
                  })),
                );
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: a waypoint has no identity but its place in the order
                <Group key={index} gap="sm" grow align="end">
                  {(['name', 'radius_m', 'stop_minutes'] as const).map((field) => (
                    <TextInput
                      key={field}
                      label={t(`stop.${field}`, { number: index + 1 })}
                      {...(field === 'name' ? { maxLength: 100 } : { inputMode: 'numeric' as const })}
                      value={stop[field]}
                      onChange={({ currentTarget }) => change({ [field]: currentTarget.value })}
                    />
                  ))}
                </Group>
              );
            })}
          </details>
        </>
      )}
      {typeof fault === 'string' ? (
        <Text c="critical" role="alert">
          {fault}
        </Text>
      ) : null}
    </section>
  );
}
