import { ActionIcon } from '@mantine/core';
import { IconFocusCentered, IconPlus, IconTrash } from '@tabler/icons-react';
import type { FocusEvent, KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import {
  canRemovePosition,
  insertPosition,
  movePosition,
  removePosition,
  replacePosition,
  type Shape,
} from '../map/shapes.ts';

interface CornerListProps {
  readonly shape: Shape;
  readonly onChange: (shape: Shape) => void;
  /** Called with the corner that has the keyboard; null if none has it. */
  readonly onFocus: (index: number | null) => void;
}

const stepM = 10;
const smallStepM = 1;
/** Directions of the arrow keys: to the north and to the east. */
const directions: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [1, 0],
  ArrowDown: [-1, 0],
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
};

/** Shows the corners of a shape as numbers. Arrow keys on a corner move it, so that no pointer is needed. */
export function CornerList({ shape, onChange, onFocus }: CornerListProps) {
  const { t } = useTranslation('places');
  const isCircle = shape.kind === 'circle';
  const onBlur = ({ currentTarget, relatedTarget }: FocusEvent): void => {
    if (!currentTarget.contains(relatedTarget)) onFocus(null);
  };
  return (
    <fieldset className="places-corners" onBlur={onBlur}>
      <legend>{t(isCircle ? 'centre' : 'corners')}</legend>
      <small>{t('cornerHint')}</small>
      <ol>
        {shape.positions.map((_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a corner has no identity but its place in the order
          <li key={index} onFocus={() => onFocus(index)}>
            <Corner shape={shape} index={index} onChange={onChange} />
            {isCircle ? null : (
              <>
                <ActionIcon
                  variant="subtle"
                  aria-label={t('addCorner', { number: index + 1 })}
                  onClick={() => onChange(insertPosition(shape, index))}
                >
                  <IconPlus size={16} aria-hidden />
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  color="critical"
                  disabled={!canRemovePosition(shape)}
                  aria-label={t('removeCorner', { number: index + 1 })}
                  onClick={() => onChange(removePosition(shape, index))}
                >
                  <IconTrash size={16} aria-hidden />
                </ActionIcon>
              </>
            )}
          </li>
        ))}
      </ol>
    </fieldset>
  );
}

function Corner({ shape, index, onChange }: { shape: Shape; index: number; onChange: (shape: Shape) => void }) {
  const { t } = useTranslation('places');
  const [latitude, longitude] = shape.positions[index] ?? [0, 0];
  const number = index + 1;
  const onKeyDown = (event: KeyboardEvent): void => {
    const direction = directions[event.key];
    if (direction === undefined) return;
    event.preventDefault();
    const metres = event.shiftKey ? smallStepM : stepM;
    const moved = movePosition([latitude, longitude], direction[0] * metres, direction[1] * metres);
    onChange(replacePosition(shape, index, moved));
  };
  const label = `${t(shape.kind === 'circle' ? 'centre' : 'corner', { number })} ${latitude}, ${longitude}`;
  return (
    <>
      <button
        type="button"
        className="places-corner"
        aria-label={`${label}. ${t('arrowKeys')}`}
        aria-keyshortcuts="ArrowUp ArrowDown ArrowLeft ArrowRight"
        onKeyDown={onKeyDown}
      >
        {shape.kind === 'circle' ? <IconFocusCentered size={18} aria-hidden /> : number}
      </button>
      <NumberField
        label={t('latitude', { number })}
        value={latitude}
        max={90}
        onCommit={(value) => onChange(replacePosition(shape, index, [value, longitude]))}
      />
      <NumberField
        label={t('longitude', { number })}
        value={longitude}
        max={180}
        onCommit={(value) => onChange(replacePosition(shape, index, [latitude, value]))}
      />
    </>
  );
}

interface NumberFieldProps {
  readonly label: string;
  readonly value: number;
  readonly max: number;
  readonly onCommit: (value: number) => void;
}

/** A number that is used when the field is left or Enter is pressed. A value that is not valid is dropped. */
function NumberField({ label, value, max, onCommit }: NumberFieldProps) {
  const commit = (field: HTMLInputElement): void => {
    const entered = field.value.trim() === '' ? Number.NaN : Number(field.value);
    if (Math.abs(entered) <= max && entered !== value) onCommit(entered);
    else field.value = String(value);
  };
  return (
    <input
      key={value}
      aria-label={label}
      inputMode="decimal"
      defaultValue={value}
      onBlur={({ currentTarget }) => commit(currentTarget)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        commit(event.currentTarget);
      }}
    />
  );
}
