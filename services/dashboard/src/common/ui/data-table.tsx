import { Checkbox } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import './data-table.css';

/** A column: its cell, and the value by which rows are sorted. */
export interface Column<Row> {
  readonly id: string;
  readonly label: string;
  readonly render: (row: Row) => ReactNode;
  /** Columns without one cannot be sorted. */
  readonly sortValue?: (row: Row) => string | number | null;
}

/** `id` sorts upwards by a column, `-id` downwards. */
type Sorting = string;

interface Selection {
  readonly ids: ReadonlySet<number>;
  readonly onChange: (ids: ReadonlySet<number>) => void;
}

interface DataTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly getId: (row: Row) => number;
  /** Name of a row for its check mark. */
  readonly getName?: (row: Row) => string;
  readonly sorting?: Sorting;
  readonly onSort?: (sorting: Sorting) => void;
  readonly selection?: Selection;
}

const rowHeightPx = 36;

/** Returns rows in the order of a sorting; values that are absent come last. */
export function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sorting: Sorting): readonly Row[] {
  const isDescending = sorting.startsWith('-');
  const value = columns.find(({ id }) => id === sorting.replace(/^-/, ''))?.sortValue;
  if (value === undefined) return rows;
  return rows.toSorted((a, b) => {
    const [first, second] = [value(a), value(b)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    const order =
      typeof first === 'number' && typeof second === 'number'
        ? first - second
        : String(first).localeCompare(String(second), undefined, { numeric: true });
    return isDescending ? -order : order;
  });
}

/** Shows the table of every list: sorting, selection, and only the rows that fit on the screen. */
export function DataTable<Row>({
  label,
  columns,
  rows,
  getId,
  getName,
  sorting = '',
  onSort,
  selection,
}: DataTableProps<Row>) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const sorted = sortRows(rows, columns, sorting);
  const virtualizer = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeightPx,
    overscan: 10,
  });
  const items = virtualizer.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  const selected = rows.filter((row) => selection?.ids.has(getId(row)) === true).length;
  return (
    <div className="table-scroll data-table" ref={scroller}>
      <table className="data" aria-label={label} aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {selection === undefined ? null : (
              <th>
                <Checkbox
                  aria-label={t('table.selectAll')}
                  checked={rows.length > 0 && selected === rows.length}
                  indeterminate={selected > 0 && selected < rows.length}
                  onChange={({ currentTarget }) =>
                    selection.onChange(new Set(currentTarget.checked ? rows.map(getId) : []))
                  }
                />
              </th>
            )}
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer heightPx={above} />
          {items.map(({ index }) => {
            const row = sorted[index] as Row;
            return (
              <tr key={getId(row)} aria-rowindex={index + 2}>
                {selection === undefined ? null : (
                  <td>
                    <SelectBox id={getId(row)} name={getName?.(row) ?? ''} selection={selection} />
                  </td>
                )}
                {columns.map((column) => (
                  <td key={column.id}>{column.render(row)}</td>
                ))}
              </tr>
            );
          })}
          <Spacer heightPx={below} />
        </tbody>
      </table>
    </div>
  );
}

interface HeaderCellProps<Row> {
  readonly column: Column<Row>;
  readonly sorting: Sorting;
  readonly onSort: ((sorting: Sorting) => void) | undefined;
}

function HeaderCell<Row>({ column: { id, label, sortValue }, sorting, onSort }: HeaderCellProps<Row>) {
  if (sortValue === undefined || onSort === undefined) return <th>{label}</th>;
  const direction = sorting === id ? 'ascending' : sorting === `-${id}` ? 'descending' : 'none';
  return (
    <th aria-sort={direction}>
      <button type="button" onClick={() => onSort(direction === 'ascending' ? `-${id}` : id)}>
        {label} <span aria-hidden>{direction === 'none' ? '' : direction === 'ascending' ? '▲' : '▼'}</span>
      </button>
    </th>
  );
}

function SelectBox({ id, name, selection: { ids, onChange } }: { id: number; name: string; selection: Selection }) {
  const { t } = useTranslation();
  const toggle = (): void => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    onChange(next);
  };
  return <Checkbox aria-label={t('table.select', { name })} checked={ids.has(id)} onChange={toggle} />;
}

/** Takes the height of rows that are not on the screen. */
function Spacer({ heightPx }: { heightPx: number }) {
  return heightPx <= 0 ? null : (
    <tr aria-hidden className="data-table-spacer">
      <td height={heightPx} />
    </tr>
  );
}
