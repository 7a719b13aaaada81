package tidegate.auction;

/** A request that is answered with an error page: what is wrong, and what the customer can do. */
final class Refusal extends RuntimeException {
    private final int status;
    private final String title;

    Refusal(int status, String title, String why) {
        super(why, null, false, false);
        this.status = status;
        this.title = title;
    }

    static Refusal notFound(String what) {
        return new Refusal(404, "There is no such " + what, "Go back and follow the links of the page.");
    }

    int status() {
        return status;
    }

    String title() {
        return title;
    }
}
