import { Button, Group, NumberInput, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../format/preferences-context.ts';
import { lengthM, type Shape, type ShapeKind } from '../map/shapes.ts';
import { CornerList } from '../places/corner-list.tsx';
import type { ShapeState } from '../places/use-shape.ts';

interface ShapeSectionProps {
  readonly kind: ShapeKind;
  readonly editing: ShapeState;
  /** Faults by field of the body. */
  readonly errors: Readonly<Record<string, unknown>>;
}

/** Shows the shape in numbers, and how to draw it. */
export function ShapeSection({ kind, editing: { shape, drawing, hasMap, actions }, errors }: ShapeSectionProps) {
  const { t } = useTranslation('geofences');
  const fault = [errors['coordinates'], errors['type']].find((each) => typeof each === 'string');
  return (
    <section aria-label={t('shape')}>
      <h3>{t('shape')}</h3>
      {drawing === null ? null : <Text role="status">{t(`draw.${drawing}`)}</Text>}
      <Group gap="sm">
        <Button size="xs" variant="default" disabled={drawing !== null} onClick={() => actions.draw(kind)}>
          {t(shape === null ? 'drawOnMap' : 'drawAgain')}
        </Button>
        {shape === null ? (
          <Button size="xs" variant="default" disabled={!hasMap} onClick={() => actions.place(kind)}>
            {t('placeInMiddle')}
          </Button>
        ) : null}
      </Group>
      {shape === null ? null : (
        <>
          <SizeFields shape={shape} errors={errors} onChange={actions.set} />
          <CornerList shape={shape} onChange={actions.set} onFocus={actions.focus} />
        </>
      )}
      {fault === undefined ? null : (
        <Text c="critical" role="alert">
          {fault}
        </Text>
      )}
    </section>
  );
}

interface SizeFieldsProps {
  readonly shape: Shape;
  readonly errors: ShapeSectionProps['errors'];
  readonly onChange: (shape: Shape) => void;
}

/** Radius of a circle; width and length of a corridor. */
function SizeFields({ shape, errors, onChange }: SizeFieldsProps) {
  const { t } = useTranslation('geofences');
  const format = useFormat();
  if (shape.kind === 'polygon') return null;
  const isCircle = shape.kind === 'circle';
  const error = errors[isCircle ? 'radius_m' : 'width_m'];
  return (
    <Group gap="md" align="end">
      <NumberInput
        label={t(isCircle ? 'radius' : 'width')}
        suffix=" m"
        min={isCircle ? 20 : 10}
        max={isCircle ? 100_000 : 5_000}
        hideControls
        value={(isCircle ? shape.radiusM : shape.widthM) ?? ''}
        error={typeof error === 'string' ? error : undefined}
        onChange={(value) => {
          if (typeof value === 'number') onChange({ ...shape, [isCircle ? 'radiusM' : 'widthM']: value });
        }}
      />
      {isCircle ? null : <span>{t('length', { distance: format.distance(lengthM(shape.positions) / 1_000) })}</span>}
    </Group>
  );
}
