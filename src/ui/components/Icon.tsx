/** Line drawings on a 20 by 20 grid, hidden from screen readers. */
const shapes = {
  check: "M4 10.5l4 4 8-9",
  cross: "M5 5l10 10M15 5L5 15",
  clock: "M10 5.5V10l3 2M10 17a7 7 0 100-14 7 7 0 000 14z",
  dots: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  play: "M6.5 4.5l9 5.5-9 5.5z",
  pause: "M7 4.5v11M13 4.5v11",
  plus: "M10 4v12M4 10h12",
  copy: "M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3",
  warning: "M10 3.5L17.5 16.5h-15zM10 8.5v3.5M10 14.3v.01",
  info: "M10 17a7 7 0 100-14 7 7 0 000 14zM10 9.5V13.5M10 6.7v.01",
  question: "M10 17a7 7 0 100-14 7 7 0 000 14zM8 8a2 2 0 113 1.7c-.7.4-1 .8-1 1.6M10 13.7v.01",
  sun: "M10 13.5a3.5 3.5 0 100-7 3.5 3.5 0 000 7zM10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M15.3 4.7l-1 1M5.7 14.3l-1 1",
  moon: "M16 12.2A6.7 6.7 0 017.8 4a6.7 6.7 0 108.2 8.2z",
  half: "M10 17a7 7 0 100-14 7 7 0 000 14zM10 3v14M10 6.5h3.5M10 10h5M10 13.5h3.5",
  exit: "M8 4H4v12h4M12 6.5l3.5 3.5-3.5 3.5M15 10H8",
  menu: "M3.5 5.5h13M3.5 10h13M3.5 14.5h13",
  search: "M9 14.5a5.5 5.5 0 100-11 5.5 5.5 0 000 11zM13.2 13.2L17 17",
  spinner: "M10 3a7 7 0 107 7",
  back: "M12 4.5L6.5 10l5.5 5.5"
} as const

export type IconName = keyof typeof shapes

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg className={name === "spinner" ? "icon-shape spin" : "icon-shape"} viewBox="0 0 20 20" aria-hidden="true">
    <path
      d={shapes[name]}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  </svg>
)
