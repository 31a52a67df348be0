import { type PointerEvent, type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';

/** Heights of the sheet on phones. */
const heights = ['low', 'half', 'full'] as const;
type Height = (typeof heights)[number];

/** Distance of a drag that changes the height by one step. */
const dragPx = 40;

/** Shows a column beside the map; on phones a sheet of three heights below it, which is dragged or tapped. */
export function BottomSheet({ children }: { children: ReactNode }) {
  const { t } = useTranslation('map');
  const [height, setHeight] = useState<Height>('low');
  const startY = useRef<number | null>(null);
  const index = heights.indexOf(height);
  const onPointerUp = ({ clientY }: PointerEvent): void => {
    const distance = startY.current === null ? 0 : startY.current - clientY;
    startY.current = null;
    if (Math.abs(distance) < dragPx) return;
    const steps = Math.sign(distance) * Math.max(1, Math.round(Math.abs(distance) / (window.innerHeight / 2)));
    setHeight(heights[Math.max(0, Math.min(heights.length - 1, index + steps))] ?? 'low');
  };
  return (
    <aside className="map-side" data-height={height}>
      <button
        type="button"
        className="map-sheet-handle"
        aria-label={t(`sheet.${height}`)}
        aria-expanded={height !== 'low'}
        onClick={() => setHeight(heights[(index + 1) % heights.length] ?? 'low')}
        onPointerDown={(event) => {
          startY.current = event.clientY;
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerUp={onPointerUp}
      />
      {children}
    </aside>
  );
}
